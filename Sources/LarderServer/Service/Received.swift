import GRPCCore
import GRPCProtobuf
import SwiftProtobuf

/// A request of a stream.
///
/// In a box, so that the stacks of those who wait for the next one, most of the time, have no room
/// for it.
final class Received<Message: SwiftProtobuf.Message>: Sendable {
    /// The request.
    let message: Message

    init(_ message: Message) {
        self.message = message
    }
}

/// Makes requests of bytes, with `invalidArgument` for bytes that are none.
struct ReceivedDeserializer<Message: SwiftProtobuf.Message>: MessageDeserializer {
    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> Received<Message> {
        Received(try ProtobufDeserializer().deserialize(bytes))
    }
}
