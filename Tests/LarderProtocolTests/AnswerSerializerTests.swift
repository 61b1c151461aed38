import Foundation
import GRPCCore
import LarderModel
import LarderProtocol
import LarderTestSupport
import LarderTransport
import SwiftProtobuf
import Testing

@Suite("Bytes of answers with documents")
struct AnswerSerializerTests {
    /// Checks that the bytes are SwiftProtobuf's.
    private func expectSame<Message: DocumentAnswer>(_ message: Message, _ random: SeededRandom)
        throws
    {
        let bytes: [UInt8] = try AnswerSerializer<Message>().serialize(message)
        let expected: [UInt8] = try message.serializedBytes()
        #expect(bytes == expected, "\(random)")
    }

    @Test("Whatever the documents are, they are SwiftProtobuf's")
    func randomDocuments() throws {
        var random = SeededRandom()
        let coder = try testCoder()
        for number in 0..<400 {
            let record = try Record(random.sendableFields())
            let version = SnapshotVersion(
                Timestamp(
                    seconds: Int64(random.below(3)) * 1_000_000_007,
                    nanoseconds: Int32(random.below(2)) * 1_000))
            let document = try coder.encode(
                record, at: try DocumentPath("c/d\(number)"),
                createTime: random.below(2) == 0 ? nil : version.timestamp, updateTime: version)

            var answer = Google_Firestore_V1_RunQueryResponse()
            answer.document = document
            answer.skippedResults = Int32(random.below(3)) * 200
            if random.below(2) == 0 { answer.transaction = Data([1, 2, 3]) }
            if random.below(2) == 0 { answer.readTime = .init(version) }
            try expectSame(answer, random)
            answer.done = true
            try expectSame(answer, random)

            var reading = Google_Firestore_V1_BatchGetDocumentsResponse()
            reading.found = document
            if random.below(2) == 0 { reading.transaction = Data([4]) }
            reading.readTime = .init(version)
            try expectSame(reading, random)

            var change = Google_Firestore_V1_ListenResponse()
            change.documentChange.document = document
            change.documentChange.targetIds = (0..<random.below(3)).map { Int32($0) * -70_000 }
            change.documentChange.removedTargetIds = (0..<random.below(3)).map { Int32($0) * 300 }
            try expectSame(change, random)
        }
    }

    @Test("Empty and large ones, too, and answers without a document")
    func edges() throws {
        let random = SeededRandom()
        let coder = try testCoder()
        var answer = Google_Firestore_V1_RunQueryResponse()
        try expectSame(answer, random)
        answer.document = Google_Firestore_V1_Document()
        try expectSame(answer, random)
        answer.document.fields = [Google_Firestore_V1_Document.FieldsEntry()]
        answer.document.fields[0].value = Google_Firestore_V1_Value()
        try expectSame(answer, random)
        for count in [127, 128, 16_383, 16_384, 300_000] {
            let text = String(repeating: "é", count: count)
            let record = try Record(["a": .string(text), "b": .bytes([UInt8](text.utf8))])
            answer.document = try coder.encode(record, at: try DocumentPath("c/d"))
            try expectSame(answer, random)
        }
        var missing = Google_Firestore_V1_BatchGetDocumentsResponse()
        missing.missing = "\(testRoot)/c/d"
        try expectSame(missing, random)
        let change = try coder.encode(
            .targets(TargetChange(.current, targetIDs: [2], resumeToken: [7])))
        try expectSame(change, random)
    }
}
