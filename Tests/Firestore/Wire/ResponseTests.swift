import Foundation
import GRPCCore
import LarderModel
import LarderRemote
import LarderTestSupport
import LarderWire
import SwiftProtobuf
import Testing

@Suite("Bytes of answers with documents")
struct ResponseTests {
    private let coder: MessageCoder

    init() throws {
        coder = try testCoder()
    }

    /// Checks that the bytes are SwiftProtobuf's of a message.
    private func expectSame<M: Message>(
        _ answer: Response<M>, _ message: M, isBytes: Bool = true, _ random: SeededRandom
    ) throws {
        let bytes: [UInt8] = try ResponseSerializer<M>().serialize(answer)
        let expected: [UInt8] = try message.serializedBytes()
        #expect(bytes == expected, "\(random)")
        if case .bytes = answer {
            #expect(isBytes, "\(random)")
        } else {
            #expect(!isBytes, "\(random)")
        }
    }

    private func expectSame(
        _ record: Record, at path: DocumentPath, mask: FieldMask? = nil,
        _ random: inout SeededRandom
    ) throws {
        let version = SnapshotVersion(
            Timestamp(
                seconds: Int64(random.below(3)) * 1_000_000_007,
                nanoseconds: Int32(random.below(2)) * 1_000))
        let createTime = random.oneIn(2) ? nil : Timestamp(seconds: -7, nanoseconds: 999)
        let readTime = SnapshotVersion(Timestamp(seconds: Int64(random.below(2)), nanoseconds: 5))
        let message = try coder.encode(
            record, at: path, mask: mask, createTime: createTime, updateTime: version)
        let reading = DocumentReading(
            path: path, contents: .found(record, createTime: createTime), version: version)

        var found = Google_Firestore_V1_RunQueryResponse()
        found.document = message
        found.readTime = .init(readTime)
        found.skippedResults = Int32(random.below(3)) * 200
        if random.oneIn(2) { found.transaction = Data([1, 2, 3]) }
        let document = Document(
            path: path, state: .found, record: record, version: version, createTime: createTime,
            readTime: readTime, hasLocalMutations: false, hasCommittedMutations: false,
            largestBatchID: 0, storedBytes: 0)
        try expectSame(
            try coder.encode(
                document, mask: mask, readTime: readTime, transaction: found.transaction,
                skippedResults: Int(found.skippedResults)),
            found, isBytes: mask == nil, random)

        var read = Google_Firestore_V1_BatchGetDocumentsResponse()
        read.found = message
        read.readTime = .init(readTime)
        try expectSame(
            try coder.encode(reading, mask: mask, readTime: readTime), read, isBytes: mask == nil,
            random)

        guard mask == nil else { return }
        var heard = Google_Firestore_V1_ListenResponse()
        heard.documentChange.document = message
        heard.documentChange.targetIds = (0..<random.below(3)).map { Int32($0) * -70_000 }
        heard.documentChange.removedTargetIds = (0..<random.below(3)).map { Int32($0) * 300 }
        try expectSame(
            try coder.encode(
                .document(
                    reading, targetIDs: heard.documentChange.targetIds,
                    removedTargetIDs: heard.documentChange.removedTargetIds)),
            heard, random)
    }

    @Test("Whatever the documents are, they are SwiftProtobuf's")
    func randomDocuments() throws {
        var random = SeededRandom()
        for number in 0..<400 {
            let fields = random.sendableFields()
            let mask = random.oneIn(4) ? FieldMask(leavesOf: fields) : nil
            try expectSame(
                try Record(fields), at: try DocumentPath("c/é\(number)/e/f"), mask: mask, &random)
        }
    }

    @Test("Empty and large ones, too")
    func sizes() throws {
        var random = SeededRandom()
        let path = try DocumentPath("c/d")
        try expectSame(try Record([:]), at: path, &random)
        for count in [127, 128, 16_383, 16_384, 300_000] {
            let text = String(repeating: "é", count: count)
            let record = try Record(["a": .string(text), "b": .bytes([UInt8](text.utf8))])
            try expectSame(record, at: path, &random)
        }
    }

    @Test("Answers without a document are messages")
    func others() throws {
        let random = SeededRandom()
        let path = try DocumentPath("c/d")
        var found = Google_Firestore_V1_RunQueryResponse()
        found.readTime = .init(.none)
        found.skippedResults = 7
        try expectSame(
            try coder.encode(nil, readTime: .none, skippedResults: 7), found, isBytes: false, random
        )
        var missing = Google_Firestore_V1_BatchGetDocumentsResponse()
        missing.missing = "\(testRoot)/c/d"
        missing.readTime.seconds = 3
        let version = SnapshotVersion(Timestamp(seconds: 3, nanoseconds: 0))
        try expectSame(
            try coder.encode(DocumentReading(path: path, contents: .absent, version: version)),
            missing, isBytes: false, random)
        var gone = Google_Firestore_V1_ListenResponse()
        gone.targetChange.targetChangeType = .remove
        gone.targetChange.targetIds = [2]
        gone.targetChange.cause = .init(LarderError(.notFound, "gone"))
        try expectSame(
            try coder.encode(
                .targets(TargetChange(.removed(LarderError(.notFound, "gone")), targetIDs: [2]))),
            gone, isBytes: false, random)
    }

    @Test("Changes of targets are SwiftProtobuf's")
    func targets() throws {
        let random = SeededRandom()
        let version = SnapshotVersion(Timestamp(seconds: 3, nanoseconds: 4_000))
        for kind in [TargetChange.Kind.none, .added, .removed(nil), .current, .reset] {
            for (ids, token, time) in [
                ([], [], .none), ([2], [7], .none),
                ([], [UInt8](repeating: 9, count: 300), version),
                ([2, 70_000], [], version),
            ] as [([Int32], [UInt8], SnapshotVersion)] {
                var message = Google_Firestore_V1_ListenResponse()
                message.targetChange.targetChangeType =
                    switch kind {
                    case .none: .noChange
                    case .added: .add
                    case .removed: .remove
                    case .current: .current
                    case .reset: .reset
                    }
                message.targetChange.targetIds = ids
                message.targetChange.resumeToken = Data(token)
                if !time.isNone { message.targetChange.readTime = .init(time) }
                let change = TargetChange(kind, targetIDs: ids, resumeToken: token, readTime: time)
                try expectSame(try coder.encode(.targets(change)), message, random)
            }
        }
    }

    @Test("Values that exist only locally are refused")
    func pending() throws {
        let path = try DocumentPath("c/d")
        let pending = Value.serverTimestamp(PendingServerTimestamp(localWriteTime: .epoch))
        for fields: MapValue in [["a": pending], ["a": .map(["b": .array([pending, 1])])]] {
            let reading = DocumentReading(
                path: path, contents: .found(try Record(fields), createTime: nil), version: .none)
            expectError(.invalidArgument, "cannot be sent") { _ = try coder.encode(reading) }
        }
    }
}
