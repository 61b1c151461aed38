import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("Mutations")
struct MutationRowTests {
    private let store: Store
    private let time = Timestamp(seconds: 100, nanoseconds: 5)
    private let alice = UserID("alice")
    private let bob = UserID("bob")

    init() throws {
        store = try Store(.inMemory())
    }

    private func touched(_ names: String...) throws -> [TouchedDocument] {
        try names.map { TouchedDocument(path: try DocumentPath($0), baseVersion: .at(3)) }
    }

    @Test("a batch keeps its contents, and the queue its order")
    func queueOrder() throws {
        let ids = try store.write { transaction in
            try (0..<3).map { number in
                try transaction.appendMutations(
                    [UInt8(number)], touching: touched("c/\(number)", "d/x"),
                    localWriteTime: time, of: alice)
            }
        }
        #expect(ids == ids.sorted() && Set(ids).count == 3)
        let batches = try store.read { try $0.mutationBatches(of: alice) }
        #expect(batches.map(\.id) == ids)
        let first = try #require(batches.first)
        #expect(first.payload == [0])
        #expect(first.localWriteTime == time)
        #expect(first.documents == (try touched("c/0", "d/x")))
        #expect(first.attemptCount == 0 && first.lastAttempt == nil && first.lastError == nil)
        try store.read { transaction throws in
            #expect(try transaction.nextMutationBatch(after: ids[0], of: alice)?.id == ids[1])
            #expect(try transaction.nextMutationBatch(after: ids[2], of: alice) == nil)
            #expect(try transaction.mutationBatchCount(of: alice) == 3)
            #expect(try transaction.mutationBatch(ids[1], of: alice)?.payload == [1])
            #expect(try transaction.mutationBatch(ids[1], of: bob) == nil)
        }
    }

    @Test("a removed batch no longer exists, and its ID is never reused")
    func removal() throws {
        let id = try store.write { transaction in
            try transaction.appendMutations(
                [1], touching: touched("c/1"), localWriteTime: time, of: alice)
        }
        try store.write { transaction in
            #expect(try transaction.removeMutationBatch(id, of: alice))
            #expect(try !transaction.removeMutationBatch(id, of: alice))
            let next = try transaction.appendMutations(
                [2], touching: touched("c/1"), localWriteTime: time, of: alice)
            #expect(next > id)
        }
        #expect(try store.read { try $0.mutationBatches(of: alice).map(\.payload) } == [[2]])
    }

    @Test("batches are found by document and by collection, for their user only")
    func finding() throws {
        var ids: [Int64] = []
        try store.write { transaction throws in
            for names in [["c/1"], ["c/2", "c/1"], ["d/1"], ["c/1/e/1"]] {
                ids.append(
                    try transaction.appendMutations(
                        [], touching: names.map { TouchedDocument(path: try DocumentPath($0)) },
                        localWriteTime: time, of: alice))
            }
        }
        try store.read { transaction in
            let (c, c1) = (try CollectionPath("c"), try DocumentPath("c/1"))
            #expect(try transaction.nextMutationBatchID(touching: c1, of: alice) == ids[0])
            #expect(
                try transaction.nextMutationBatchID(touching: c1, after: ids[0], of: alice)
                    == ids[1])
            #expect(
                try transaction.nextMutationBatchID(touching: c1, after: ids[1], of: alice) == nil)
            #expect(try transaction.nextMutationBatchID(touching: c1, of: bob) == nil)
            #expect(
                try transaction.mutationBatchIDs(touchingDocumentsIn: c, of: alice)
                    == [ids[0], ids[1]])
        }
    }

    @Test("more batches are found than fit at first")
    func findingMany() throws {
        let ids = try store.write { transaction in
            try (0..<100).map { _ in
                try transaction.appendMutations(
                    [], touching: touched("c/1"), localWriteTime: time, of: .unauthenticated)
            }
        }
        let found = try store.read { transaction in
            try transaction.mutationBatchIDs(
                touchingDocumentsIn: CollectionPath("c"), of: .unauthenticated)
        }
        #expect(found == ids)
    }

    @Test("attempts are counted, with the time and text of the last")
    func attempts() throws {
        let id = try store.write { transaction in
            try transaction.appendMutations(
                [], touching: touched("c/1"), localWriteTime: time, of: alice)
        }
        let later = Timestamp(seconds: 200, nanoseconds: 0)
        try store.write { transaction throws in
            #expect(
                try transaction.recordAttempt(
                    toSend: id, of: alice, at: time, failure: "no network"))
            #expect(
                try transaction.recordAttempt(
                    toSend: id, of: alice, at: later, failure: "refused"))
            #expect(try !transaction.recordAttempt(toSend: id + 1, of: alice, at: later))
        }
        let batch = try store.read { try $0.mutationBatch(id, of: alice) }
        #expect(batch?.attemptCount == 2)
        #expect(batch?.lastAttempt == later)
        #expect(batch?.lastError == "refused")
    }

    @Test("each user has a queue, also the unauthenticated one")
    func users() throws {
        #expect(try store.read { try $0.usersWithMutations() } == [])
        try store.write { transaction throws in
            for user in [bob, .unauthenticated, alice] {
                _ = try transaction.appendMutations(
                    [], touching: touched("c/1"), localWriteTime: time, of: user)
            }
        }
        #expect(try store.read { try $0.usersWithMutations() } == [.unauthenticated, alice, bob])
        #expect(try store.statistics().pendingBatchCount == 3)
    }

    @Test("a user id beyond its limit is refused")
    func longUser() throws {
        try store.write { transaction throws in
            #expect(throws: LarderError.self) {
                try transaction.appendMutations(
                    [], touching: touched("c/1"), localWriteTime: time,
                    of: UserID(String(repeating: "u", count: 257)))
            }
        }
    }
}
