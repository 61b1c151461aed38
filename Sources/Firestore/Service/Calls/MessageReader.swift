import GRPCCore
import NIOCore

/// Decodes the messages of a call.
///
/// ```
/// | is compressed: 1 byte | length: 4 bytes, the most significant first | message |
/// ```
///
/// (gRPC over HTTP/2, "Length-Prefixed-Message"). Compressed messages are refused.
struct MessageReader {
    enum Step: Equatable {
        /// The beginning of a message of this length.
        case begins(Int)
        case message([UInt8])
    }

    static let prefixBytes = 5
    /// The initial capacity for a partial message.
    private static let firstBytes = 64 << 10
    /// The capacity of a partial message as a multiple of its size: few blocks for a message, and
    /// little room for one whose rest does not come.
    private static let growth = 4

    private let maxBytes: Int
    /// The encoding of compressed messages, as the headers name it; nil for none.
    var encoding: String?
    /// The length of the partial message.
    private var length: Int?
    private var message: [UInt8] = []

    /// - Parameter maxBytes: the size of the largest message.
    init(maxBytes: Int) {
        self.maxBytes = maxBytes
    }

    /// The bytes of a partial message.
    var partBytes: Int { message.count }

    /// Whether there is no partial message.
    var isBetween: Bool { length == nil }

    /// Consumes bytes up to the next step; nil if more bytes are needed.
    ///
    /// A partial prefix is not consumed.
    ///
    /// - Throws: `invalidArgument` for a message that is too large, as in Cloud Firestore: its
    ///   clients repeat calls that fail with `resourceExhausted`, gRPC's own code. For a compressed
    ///   message, `unimplemented` with the encodings that are served, or `internalError` if the
    ///   headers name none (gRPC compression, "Test cases").
    mutating func next(_ bytes: inout ByteBuffer) throws(RPCError) -> Step? {
        guard let length else { return try begin(&bytes) }
        let missing = length - message.count
        if message.isEmpty, let whole = bytes.readBytes(length: length) {
            message = whole
        } else if let part = bytes.readSlice(length: min(missing, bytes.readableBytes)) {
            let count = message.count + part.readableBytes
            if count > message.capacity {
                message.reserveCapacity(min(length, count * Self.growth))
            }
            message.append(contentsOf: part.readableBytesView)
        }
        guard message.count == length else { return nil }
        defer { (self.length, message) = (nil, []) }
        return .message(message)
    }

    private mutating func begin(_ bytes: inout ByteBuffer) throws(RPCError) -> Step? {
        guard bytes.readableBytes >= Self.prefixBytes,
            let flag = bytes.readInteger(as: UInt8.self),
            let length = bytes.readInteger(as: UInt32.self).map(Int.init)
        else { return nil }
        guard flag == 0 else { throw .compressed(by: encoding, flag: flag) }
        guard length <= maxBytes else {
            throw RPCError(
                code: .invalidArgument,
                message: "a request of \(length) bytes; the limit is \(maxBytes)")
        }
        self.length = length
        if bytes.readableBytes < length { message.reserveCapacity(min(length, Self.firstBytes)) }
        return .begins(length)
    }
}
