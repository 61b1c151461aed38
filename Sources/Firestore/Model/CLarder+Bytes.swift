import CLarder
import Foundation

extension larder_bytes {
    var buffer: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: size_bytes == 0 ? nil : data, count: size_bytes)
    }

    /// A copy as text; invalid UTF-8 is replaced.
    var text: String { String(decoding: buffer, as: UTF8.self) }

    var array: [UInt8] { [UInt8](buffer) }

    init(_ buffer: UnsafeRawBufferPointer) {
        self.init(data: buffer.baseAddress, size_bytes: buffer.count)
    }
}

extension larder_time {
    init(_ timestamp: Timestamp) {
        self.init(
            seconds: timestamp.seconds, nanoseconds: timestamp.nanoseconds, reserved: 0)
    }

    /// The instant, validated by the core.
    var timestamp: Timestamp { Timestamp(unchecked: seconds, nanoseconds) }
}

extension Int32 {
    static let ok = Int32(LARDER_OK)
    static let notFound = Int32(LARDER_NOT_FOUND)
    static let cold = Int32(LARDER_COLD)
}

extension ComparisonResult {
    init(order: Int32) {
        self = order < 0 ? .orderedAscending : order > 0 ? .orderedDescending : .orderedSame
    }

    init(order: Int) {
        self = order < 0 ? .orderedAscending : order > 0 ? .orderedDescending : .orderedSame
    }
}

/// Calls a closure with text as borrowed bytes.
func withBytes<R>(_ text: String, _ body: (larder_bytes) -> R) -> R {
    var text = text
    return text.withUTF8 { body(larder_bytes(UnsafeRawBufferPointer($0))) }
}

// MARK: - Errors

extension larder_error {
    var text: String {
        withUnsafeBytes(of: message) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

/// Throws unless the status is 0 or an expected outcome.
func throwIfFailed(_ status: Int32, _ failure: larder_error) throws(LarderError) {
    guard status < 0 else { return }
    let described = failure.status == status
    throw LarderError(
        status: status, systemCode: described ? failure.system_code : 0,
        message: described ? failure.text : "")
}
