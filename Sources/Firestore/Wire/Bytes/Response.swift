package import GRPCCore
package import SwiftProtobuf

/// An answer on its way to a client: bytes where there are many of its kind, and its message else.
package enum Response<Message: SwiftProtobuf.Message>: Sendable {
    /// The message's bytes.
    case bytes([UInt8])
    /// What SwiftProtobuf is to make bytes of.
    indirect case message(Message)

    /// About how many bytes it takes while it waits for its client; a message has no document.
    package var sizeBytes: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .message: 256
        }
    }

    /// The bytes of the message.
    package func serializedBytes() throws -> [UInt8] {
        switch self {
        case .bytes(let bytes): bytes
        case .message(let message): try message.serializedBytes()
        }
    }

    /// The bytes of what a closure writes, from its end to its beginning.
    static func writing<E>(_ body: (inout BackwardWriter) throws(E) -> Void) throws(E) -> Self {
        // About what a document and its names take.
        var writer = BackwardWriter(capacity: 2_048)
        try body(&writer)
        return .bytes(writer.bytes)
    }
}

/// Makes the bytes of answers that are none yet.
package struct ResponseSerializer<Message: SwiftProtobuf.Message>: MessageSerializer {
    /// A serializer; it keeps nothing.
    package init() {}

    package func serialize<Bytes: GRPCContiguousBytes>(_ answer: Response<Message>) throws -> Bytes {
        Bytes(try answer.serializedBytes())
    }
}
