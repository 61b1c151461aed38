import CLarder
import LarderRealtimeModel

extension larder_bytes {
    /// No bytes.
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
}

extension Int32 {
    static let ok = Int32(LARDER_OK)
    static let notFound = Int32(LARDER_NOT_FOUND)
    static let more = Int32(LARDER_MORE)
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

/// Calls with a path as borrowed text.
func withBytes<R>(_ path: TreePath, _ body: (larder_bytes) -> R) -> R {
    if path.isEmpty { return body(.none) }
    if path.count == 1, let key = path.first { return withBytes(key.text, body) }
    var bytes: [UInt8] = []
    bytes.append(path)
    return withBytes(bytes, body)
}

/// Calls with keys as borrowed text.
func withBytes<R>(
    _ keys: some Sequence<ChildKey>, _ body: (UnsafeBufferPointer<larder_bytes>) -> R
) -> R {
    var bytes: [UInt8] = []
    var ends: [Int] = []
    for key in keys {
        bytes.append(contentsOf: key.text.utf8)
        ends.append(bytes.count)
    }
    return bytes.withUnsafeBytes { bytes in
        var start = 0
        let parts = ends.map { end in
            defer { start = end }
            return larder_bytes(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
        }
        return parts.withUnsafeBufferPointer(body)
    }
}

extension [UInt8] {
    /// Appends a path's text.
    mutating func append(_ path: TreePath) {
        var isFirst = true
        for key in path {
            if !isFirst { append(UInt8(ascii: "/")) }
            append(contentsOf: key.text.utf8)
            isFirst = false
        }
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
    guard failure.status == status else {
        throw LarderError(status: status, domain: LarderError.realtimeDomain)
    }
    let message = withUnsafeBytes(of: failure.message) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    throw LarderError(
        status: status, systemCode: failure.system_code, message: message,
        domain: LarderError.realtimeDomain)
}
