import CLarder
import LarderModel

extension larder_bytes {
    /// Bytes that are none.
    static var none: larder_bytes { larder_bytes(data: nil, size_bytes: 0) }

    init(_ buffer: UnsafeRawBufferPointer) {
        self.init(data: buffer.baseAddress, size_bytes: buffer.count)
    }

    /// The bytes as a buffer, valid as long as they are.
    var buffer: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: size_bytes == 0 ? nil : data, count: size_bytes)
    }

    /// A copy of text.
    var text: String { String(decoding: buffer, as: UTF8.self) }

    /// A copy of the bytes.
    var array: [UInt8] { [UInt8](buffer) }
}

extension larder_time {
    /// The core's word for "no time".
    static var none: larder_time { larder_time(seconds: 0, nanoseconds: 0, reserved: 0) }

    init(_ timestamp: Timestamp) {
        self.init(
            seconds: timestamp.seconds, nanoseconds: timestamp.nanoseconds, reserved: 0)
    }

    init(_ version: SnapshotVersion) {
        self.init(version.timestamp)
    }

    /// The instant, which the core has checked.
    var timestamp: Timestamp { Timestamp(unchecked: seconds, nanoseconds) }

    /// The version; ``SnapshotVersion/none`` for "no time".
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
    static let more = Int32(LARDER_MORE)
    static let stopped = Int32(LARDER_STOPPED)
    static let corrupt = Int32(LARDER_E_CORRUPT)
    static let bufferTooSmall = Int32(LARDER_E_BUFFER_TOO_SMALL)
}

/// Calls with text as borrowed bytes.
func withBytes<R>(_ text: String, _ body: (larder_bytes) -> R) -> R {
    var text = text
    return text.withUTF8 { body(larder_bytes(UnsafeRawBufferPointer($0))) }
}

/// Calls with an array as borrowed bytes.
func withBytes<R>(_ bytes: [UInt8], _ body: (larder_bytes) -> R) -> R {
    bytes.withUnsafeBytes { body(larder_bytes($0)) }
}

/// Calls with paths as borrowed bytes.
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

/// Calls a function of the core; its status unless that says that it failed.
@discardableResult
func call(
    _ function: (UnsafeMutablePointer<larder_error>) -> Int32
) throws(LarderError) -> Int32 {
    var failure = larder_error()
    let status = function(&failure)
    guard status < 0 else { return status }
    throw error(of: status, failure)
}

/// The error of a status below 0.
func error(of status: Int32, _ failure: larder_error) -> LarderError {
    guard failure.status == status else { return LarderError(status: status) }
    let message = withUnsafeBytes(of: failure.message) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    return LarderError(status: status, systemCode: failure.system_code, message: message)
}
