import Foundation
import LarderModel
import LarderRemote
import LarderTestSupport
import SwiftProtobuf
import Testing

@testable import LarderWire

/// What is read straight from the bytes of a commit is what its message says.
@Suite("Bytes of commits")
struct CommitBytesTests {
    private let coder: MessageCoder

    init() throws {
        coder = try testCoder()
    }

    private func sets(_ random: inout SeededRandom) throws -> Google_Firestore_V1_CommitRequest {
        var mutations: [Mutation] = []
        for _ in 0..<random.below(4) {
            mutations.append(
                Mutation(
                    .set(try Record(random.sendableFields())),
                    at: try DocumentPath("c/é\(random.below(100))/d/x")))
        }
        return try coder.encode(committing: mutations)
    }

    @Test("Sets are decoded without messages, with equal results")
    func sets() throws {
        var random = SeededRandom()
        var plain = 0
        for _ in 0..<500 {
            let request = try sets(&random)
            let bytes: [UInt8] = try request.serializedBytes()
            #expect(MessageCoder.database(ofCommit: bytes) == "\(coder.database)")
            guard let read = coder.fastPathWrites(commit: bytes) else { continue }
            #expect(try read == coder.decode(request), "\(random)")
            plain += 1
        }
        // Vectors are not, and some of the documents have one.
        #expect(plain > 250, "\(random)")
    }

    @Test("Bytes that are not quite a commit's are left to the message, or mean the same")
    func mutated() throws {
        var random = SeededRandom()
        var (read, left) = (0, 0)
        for _ in 0..<400 {
            let sound: [UInt8] = try sets(&random).serializedBytes()
            for _ in 0..<25 {
                let bytes = random.damaged(sound)
                guard let plain = coder.fastPathWrites(commit: bytes) else {
                    left += 1
                    continue
                }
                let message = try Google_Firestore_V1_CommitRequest(serializedBytes: bytes)
                #expect(try plain == coder.decode(message), "\(random): \(bytes)")
                #expect(message.transaction.isEmpty && !message.database.isEmpty)
                read += 1
            }
        }
        #expect(read > 100 && left > 100)
    }

    @Test("Commits that do more than set documents are left to the messages")
    func others() throws {
        let path = try DocumentPath("c/d")
        let record = try Record(["a": 1])
        let field = FieldMask([try FieldPath("a")])
        var requests = try [
            Mutation(.delete, at: path), Mutation(.verify, at: path),
            Mutation(.patch(record, field), at: path),
            Mutation(.set(record), at: path, precondition: .exists(false)),
            Mutation(
                .set(record), at: path,
                transforms: [FieldTransform(try FieldPath("t"), .serverTimestamp)]),
        ].map { try coder.encode(committing: [$0]) }
        var inTransaction = try coder.encode(committing: [Mutation(.set(record), at: path)])
        #expect(coder.fastPathWrites(commit: try inTransaction.serializedBytes()) != nil)
        inTransaction.transaction = Data([1])
        var elsewhere = inTransaction
        elsewhere.transaction = Data()
        elsewhere.database = "projects/p/databases/e"
        requests += [inTransaction, elsewhere]
        for request in requests {
            #expect(coder.fastPathWrites(commit: try request.serializedBytes()) == nil)
        }
        #expect(MessageCoder.database(ofCommit: []) == nil)
        #expect(MessageCoder.database(ofCommit: [0x0a, 2, 0xff, 0xff]) == nil)
        #expect(MessageCoder.database(ofCommit: [0x12, 0]) == nil)
    }

    @Test("Answers are the bytes of their messages")
    func answers() throws {
        let path = try DocumentPath("c/d")
        let mutations = [
            Mutation(.set(try Record([:])), at: path), Mutation(.delete, at: path),
            Mutation(.verify, at: path),
        ]
        let times = [
            Timestamp(seconds: 5, nanoseconds: 6_000), Timestamp(seconds: 0, nanoseconds: 0),
            Timestamp(seconds: -1, nanoseconds: 0),
        ].map { SnapshotVersion($0) }
        for count in 0...3 {
            for version in times {
                for transformResults in [[], [Value.integer(1)]] {
                    let results = (0..<count).map {
                        MutationResult(version: times[$0], transformResults: transformResults)
                    }
                    let response = CommitResponse(commitVersion: version, results: results)
                    let message = try coder.encode(response, of: mutations)
                    let bytes = try coder.encode(commitResponse: response, of: mutations)
                    #expect(try bytes.serializedBytes() == message.serializedBytes())
                }
            }
        }
    }
}
