import CLarder
import LarderModel
// Users of documents need the store that contains them.
@_exported public import LarderStorage

extension larder_bytes {
    static var none: larder_bytes { larder_bytes(data: nil, size_bytes: 0) }

    init(_ buffer: UnsafeRawBufferPointer) {
        self.init(data: buffer.baseAddress, size_bytes: buffer.count)
    }

    var buffer: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: size_bytes == 0 ? nil : data, count: size_bytes)
    }

    var text: String { String(decoding: buffer, as: UTF8.self) }

    var array: [UInt8] { [UInt8](buffer) }
}

extension larder_time {
    /// The core's representation of "no time".
    static var none: larder_time { larder_time(seconds: 0, nanoseconds: 0, reserved: 0) }

    init(_ timestamp: Timestamp) {
        self.init(
            seconds: timestamp.seconds, nanoseconds: timestamp.nanoseconds, reserved: 0)
    }

    init(_ version: SnapshotVersion) {
        self.init(version.timestamp)
    }

    /// The instant, validated by the core.
    var timestamp: Timestamp { Timestamp(unchecked: seconds, nanoseconds) }

    var version: SnapshotVersion { SnapshotVersion(timestamp) }

    /// The instant; nil for "no time".
    var knownTimestamp: Timestamp? {
        seconds == 0 && nanoseconds == 0 ? nil : timestamp
    }
}

extension Int32 {
    static let ok = Int32(LARDER_OK)
    static let notFound = Int32(LARDER_NOT_FOUND)
    static let end = Int32(LARDER_END)
    static let corrupt = Int32(LARDER_E_CORRUPT)
    static let noMemory = Int32(LARDER_E_NO_MEMORY)
}

/// Calls a closure with text as borrowed bytes.
func withBytes<R>(_ text: String, _ body: (larder_bytes) -> R) -> R {
    var text = text
    return text.withUTF8 { body(larder_bytes(UnsafeRawBufferPointer($0))) }
}

/// Calls a closure with an array as borrowed bytes.
func withBytes<R>(_ bytes: [UInt8], _ body: (larder_bytes) -> R) -> R {
    bytes.withUnsafeBytes { body(larder_bytes($0)) }
}

/// Calls a closure with paths as borrowed bytes.
func withNames<R>(
    _ paths: [DocumentPath], _ body: (UnsafeBufferPointer<larder_bytes>) -> R
) -> R {
    var texts: [UInt8] = []
    var ends: [Int] = []
    ends.reserveCapacity(paths.count)
    for path in paths {
        texts.append(contentsOf: path.string.utf8)
        ends.append(texts.count)
    }
    return texts.withUnsafeBytes { texts in
        var start = 0
        let names = ends.map { end in
            defer { start = end }
            return larder_bytes(UnsafeRawBufferPointer(rebasing: texts[start..<end]))
        }
        return names.withUnsafeBufferPointer(body)
    }
}

/// Calls a function of the core and returns its status, or throws the error of a status below 0.
@discardableResult
func call(
    _ function: (UnsafeMutablePointer<larder_error>) -> Int32
) throws(LarderError) -> Int32 {
    var failure = larder_error()
    let status = function(&failure)
    guard status < 0 else { return status }
    throw error(of: status, failure)
}

func error(of status: Int32, _ failure: larder_error) -> LarderError {
    guard failure.status == status else { return LarderError(status: status) }
    let message = withUnsafeBytes(of: failure.message) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    return LarderError(status: status, systemCode: failure.system_code, message: message)
}

/// Calls a function that fills an array of numbers; calls it again with a larger array if
/// necessary.
func filledArray<Number: FixedWidthInteger>(
    _ fill: (
        UnsafeMutablePointer<Number>, Int, UnsafeMutablePointer<Int>,
        UnsafeMutablePointer<larder_error>
    ) -> Int32
) throws(LarderError) -> [Number] {
    var capacity = 16
    while true {
        var (count, status) = (0, Int32.ok)
        var failure = larder_error()
        let numbers = [Number](unsafeUninitializedCapacity: capacity) { buffer, written in
            if let base = buffer.baseAddress {
                status = fill(base, capacity, &count, &failure)
            }
            written = status == .ok ? min(count, capacity) : 0
        }
        guard status >= 0 else { throw error(of: status, failure) }
        if count <= capacity { return numbers }
        capacity = count
    }
}
