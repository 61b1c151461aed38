/// Tracks the frame boundaries of a client's bytes (RFC 9113, 4.1), to detect clients that stop
/// within a frame or before their first one.
struct HTTP2FrameTracker {
    private static let data: UInt8 = 0
    private static let headers: UInt8 = 1
    private static let settings: UInt8 = 4
    private static let continuation: UInt8 = 9
    private static let endsHeaders: UInt8 = 4
    private static let prefaceBytes = 24
    private static let headBytes = 9

    /// Bytes left of the preface or of a frame's payload.
    private var left = Self.prefaceBytes
    /// Bytes received of a frame's head.
    private var headCount = 0
    private var length = 0
    private var type: UInt8 = 0
    private var flags: UInt8 = 0
    private var stream: Int32 = 0
    private var isInData = false
    private var isInHeaders = false
    private var hasSettings = false

    /// True if more bytes must follow soon: the connection has not begun, or a frame or a block of
    /// headers is incomplete; not within the payload of a data frame, which has a request's time.
    var isIncomplete: Bool {
        !hasSettings || isInHeaders || headCount > 0 || left > 0 && !isInData
    }

    /// - Parameter data: called with the stream of each data frame that begins.
    mutating func receive(
        _ bytes: UnsafeRawBufferPointer, data: (Int32) -> Void = { _ in }
    ) {
        var position = 0
        while position < bytes.count {
            if left > 0 {
                let count = min(left, bytes.count - position)
                left -= count
                position += count
            } else {
                receiveHead(bytes[position], data)
                position += 1
            }
        }
    }

    private mutating func receiveHead(_ byte: UInt8, _ data: (Int32) -> Void) {
        switch headCount {
        case 0: length = Int(byte)
        case 1, 2: length = length << 8 | Int(byte)
        case 3: type = byte
        case 4: flags = byte
        case 5: stream = Int32(byte & 0x7f)
        default: stream = stream << 8 | Int32(byte)
        }
        headCount += 1
        guard headCount == Self.headBytes else { return }
        headCount = 0
        left = length
        isInData = type == Self.data
        if isInData { data(stream) }
        if type == Self.settings { hasSettings = true }
        if type == Self.headers || type == Self.continuation {
            isInHeaders = flags & Self.endsHeaders == 0
        }
    }
}
