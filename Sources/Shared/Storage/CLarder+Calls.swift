import CLarder
import LarderCore

extension larder_bytes {
    init(_ buffer: UnsafeRawBufferPointer) {
        self.init(data: buffer.baseAddress, size_bytes: buffer.count)
    }

    private var buffer: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: size_bytes == 0 ? nil : data, count: size_bytes)
    }

    /// A copy of text.
    var text: String { String(decoding: buffer, as: UTF8.self) }

    /// A copy of the bytes.
    var array: [UInt8] { [UInt8](buffer) }
}

extension larder_time {
    /// An instant; nil is the core's "no time".
    init(_ timestamp: Timestamp?) {
        self.init(
            seconds: timestamp?.seconds ?? 0, nanoseconds: timestamp?.nanoseconds ?? 0,
            reserved: 0)
    }

    /// The instant, which the core has checked; nil for "no time".
    var timestamp: Timestamp? {
        seconds == 0 && nanoseconds == 0 ? nil : Timestamp(unchecked: seconds, nanoseconds)
    }
}

extension Int32 {
    static let ok = Int32(LARDER_OK)
    static let more = Int32(LARDER_MORE)
    static let stopped = Int32(LARDER_STOPPED)
    static let corrupt = Int32(LARDER_E_CORRUPT)
    static let noMemory = Int32(LARDER_E_NO_MEMORY)
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

/// Calls a function of the core and returns its status, or throws the error of a status below 0.
@discardableResult
func call(
    _ domain: String, _ function: (UnsafeMutablePointer<larder_error>) -> Int32
) throws(LarderError) -> Int32 {
    var failure = larder_error()
    let status = function(&failure)
    guard status < 0 else { return status }
    throw error(of: status, failure, domain)
}

/// The error of an argument that the core was not called with.
func error(ofArgument message: String, _ domain: String) -> LarderError {
    LarderError(.invalidArgument, message, condition: .invalidArgument, domain: domain)
}

/// The error of a status below 0.
func error(of status: Int32, _ failure: larder_error, _ domain: String) -> LarderError {
    guard failure.status == status else { return LarderError(status: status, domain: domain) }
    let message = withUnsafeBytes(of: failure.message) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    return LarderError(
        status: status, systemCode: failure.system_code, message: message, domain: domain)
}
