import GRPCCore
import NIOCore

/// Finds the messages in the bytes of a call.
///
/// ```
/// | is compressed: 1 byte | length: 4 bytes, the most significant first | message |
/// ```
///
/// (gRPC over HTTP/2, "Length-Prefixed-Message")
struct MessageReader {
    /// What comes next.
    enum Step: Equatable {
        /// A message begins that has so many bytes.
        case begins(Int)
        /// A message is whole.
        case message([UInt8])
    }

    /// What stands before a message.
    static let prefixBytes = 5
    /// Room for a message that has only begun; more as its bytes come.
    private static let firstBytes = 64 << 10

    private let maxBytes: Int
    /// The length of the message that has begun.
    private var length: Int?
    private var message: [UInt8] = []

    /// - Parameter maxBytes: what a message may have.
    init(maxBytes: Int) {
        self.maxBytes = maxBytes
    }

    /// Whether no message has begun and not ended.
    var isBetween: Bool { length == nil }

    /// Takes what comes next from the bytes of a call; nil where more is needed for that.
    ///
    /// A part of a prefix is left in the bytes.
    ///
    /// - Throws: `invalidArgument` for a message that is too large, as Cloud Firestore does;
    ///   `internalError` for one that is compressed without a word about it.
    mutating func next(_ bytes: inout ByteBuffer) throws(RPCError) -> Step? {
        guard let length else { return try begin(&bytes) }
        let missing = length - message.count
        if message.isEmpty, let whole = bytes.readBytes(length: length) {
            message = whole
        } else if let part = bytes.readSlice(length: min(missing, bytes.readableBytes)) {
            message.append(contentsOf: part.readableBytesView)
        }
        guard message.count == length else { return nil }
        defer { (self.length, message) = (nil, []) }
        return .message(message)
    }

    private mutating func begin(_ bytes: inout ByteBuffer) throws(RPCError) -> Step? {
        guard bytes.readableBytes >= Self.prefixBytes,
            let isCompressed = bytes.readInteger(as: UInt8.self),
            let length = bytes.readInteger(as: UInt32.self).map(Int.init)
        else { return nil }
        guard isCompressed == 0 else {
            throw RPCError(
                code: .internalError,
                message: "a message is compressed, and the call's headers do not say how")
        }
        guard length <= maxBytes else {
            throw RPCError(
                code: .invalidArgument,
                message: "a request has \(length) bytes, and \(maxBytes) is the limit")
        }
        self.length = length
        if bytes.readableBytes < length { message.reserveCapacity(min(length, Self.firstBytes)) }
        return .begins(length)
    }
}
