import GRPCCore
import GRPCProtobuf
import SwiftProtobuf

/// A request as it came.
///
/// In a box, so that the stacks of those who wait for the next one, most of the time, have no room
/// for it.
final class Received<Message: SwiftProtobuf.Message>: Sendable {
    private enum Contents: Sendable {
        case message(Message)
        /// What is too large to be decoded while others wait.
        case bytes([UInt8])
    }

    private let contents: Contents

    /// What a request may have to be decoded, and served, on the event loop that it came from.
    private static var littleBytes: Int { 64 << 10 }

    /// Reads a request that is not large.
    ///
    /// - Throws: `invalidArgument` for bytes that are no such message.
    init(_ bytes: some GRPCContiguousBytes) throws {
        let size = bytes.withUnsafeBytes { $0.count }
        contents =
            size <= Self.littleBytes
            ? .message(try ProtobufDeserializer().deserialize(bytes))
            : .bytes(bytes.withUnsafeBytes { [UInt8]($0) })
    }

    /// Lends the request to a closure: a large one where its event loop does not wait for it, nor
    /// the other connections of that.
    ///
    /// - Throws: what the closure throws; `invalidArgument` for bytes that are no such message.
    func read<R>(_ body: (Message) async throws -> R) async throws -> R {
        switch contents {
        case .message(let message): try await body(message)
        case .bytes(let bytes):
            try await withTaskExecutorPreference(globalConcurrentExecutor) {
                try await body(try ProtobufDeserializer().deserialize(bytes))
            }
        }
    }
}

/// Takes requests as they come.
struct ReceivedDeserializer<Message: SwiftProtobuf.Message>: MessageDeserializer {
    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> Received<Message> {
        try Received(bytes)
    }
}
