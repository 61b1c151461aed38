package import GRPCCore
import LarderModel
package import SwiftProtobuf

/// Makes answers of bytes, with `internal` for bytes that are none.
///
/// gRPC's own says `invalidArgument` then, which a client takes for a refusal of what it asked for.
package struct ResponseDeserializer<Message: SwiftProtobuf.Message>: MessageDeserializer {
    /// A deserializer; it keeps nothing.
    package init() {}

    package func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> Message {
        try Self.message(bytes.withUnsafeBytes { [UInt8]($0) })
    }

    /// The message that bytes are.
    static func message(_ bytes: [UInt8]) throws(LarderError) -> Message {
        do {
            return try Message(serializedBytes: bytes)
        } catch {
            throw LarderError(.internal, "the backend's answer is no message", cause: error)
        }
    }
}
