import Foundation
package import GRPCCore
import GRPCProtobuf
package import SwiftProtobuf

/// An answer that mostly carries a document, and is made bytes of without SwiftProtobuf then.
package protocol DocumentAnswer: SwiftProtobuf.Message {
    /// The document that it carries and nothing rare beside it; nil for any other answer.
    var plain: PlainAnswer? { get }
}

/// What an answer comes down to that carries a document.
package enum PlainAnswer {
    /// One of a query.
    case query(Google_Firestore_V1_RunQueryResponse)
    /// One of a read.
    case reading(Google_Firestore_V1_BatchGetDocumentsResponse)
    /// One of a Listen stream.
    case change(Google_Firestore_V1_DocumentChange)

    fileprivate func write(to writer: inout BackwardWriter) {
        switch self {
        case .query(let answer):
            if answer.skippedResults != 0 {
                writer.write(UInt64(bitPattern: Int64(answer.skippedResults)), field: 4)
            }
            if answer.hasReadTime { writer.write(answer.readTime, field: 3) }
            answer.transaction.withUnsafeBytes {
                if !$0.isEmpty { writer.writeContent($0, field: 2) }
            }
            writer.write(answer.document, field: 1)
        case .reading(let answer):
            if answer.hasReadTime { writer.write(answer.readTime, field: 4) }
            answer.transaction.withUnsafeBytes {
                if !$0.isEmpty { writer.writeContent($0, field: 3) }
            }
            writer.write(answer.found, field: 1)
        case .change(let change):
            writer.write(field: 3) { writer in
                writer.write(change.removedTargetIds, field: 6)
                writer.write(change.targetIds, field: 5)
                writer.write(change.document, field: 1)
            }
        }
    }
}

extension Google_Firestore_V1_RunQueryResponse: DocumentAnswer {
    package var plain: PlainAnswer? {
        hasDocument && !hasExplainMetrics && continuationSelector == nil ? .query(self) : nil
    }
}

extension Google_Firestore_V1_BatchGetDocumentsResponse: DocumentAnswer {
    package var plain: PlainAnswer? {
        if case .found = result { .reading(self) } else { nil }
    }
}

extension Google_Firestore_V1_ListenResponse: DocumentAnswer {
    package var plain: PlainAnswer? {
        if case .documentChange(let change) = responseType { .change(change) } else { nil }
    }
}

/// Makes the bytes of answers, those with a document at a fraction of what SwiftProtobuf takes.
///
/// For answers that this process has made: fields that came from elsewhere and that nobody knows
/// are left out.
package struct AnswerSerializer<Message: DocumentAnswer>: MessageSerializer {
    /// About what a document and its names take.
    private static var capacity: Int { 2_048 }

    /// A serializer; it keeps nothing.
    package init() {}

    package func serialize<Bytes: GRPCContiguousBytes>(_ message: Message) throws -> Bytes {
        guard let plain = message.plain else {
            return try ProtobufSerializer<Message>().serialize(message)
        }
        var writer = BackwardWriter(capacity: Self.capacity)
        plain.write(to: &writer)
        return writer.withBytes { written in
            var bytes = Bytes(repeating: 0, count: written.count)
            bytes.withUnsafeMutableBytes { $0.copyMemory(from: written) }
            return bytes
        }
    }
}
