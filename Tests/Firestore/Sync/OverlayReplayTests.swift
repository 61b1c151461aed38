import LarderCore
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderDocumentStore
@testable import LarderSync

@Suite("Applying pending writes again")
struct OverlayReplayTests {
    private let fixture: LocalStoreFixture
    private let path: DocumentPath

    init() throws {
        fixture = try LocalStoreFixture()
        path = try DocumentPath("c/b")
    }

    /// The store says that a document has a batch which is removed, and whose row does not name the
    /// document: its own removed batches stay in order, before and after that one.
    @Test("a stale mention of a removed batch takes the place of none", arguments: [0, 1])
    func staleMention(_ stale: Int) throws {
        let ids = try (0..<3).map { _ in
            try fixture.write(.increment("c/b", "n", by: 1)).id
        }
        let other = try fixture.write(.set("c/a", ["n": 1])).id
        try fixture.store.write { (transaction) throws(LarderError) in
            let user = fixture.local.user
            guard let named = try transaction.mutationBatch(ids[1 - stale], of: user),
                let unrelated = try transaction.mutationBatch(other, of: user)
            else { throw LarderError(.internal, "a batch is not in the queue") }
            try transaction.removeMutationBatch(named.id, of: user)
            let mention = MutationRow(
                id: ids[stale], localWriteTime: unrelated.localWriteTime,
                documents: unrelated.documents, payload: unrelated.payload, attemptCount: 0,
                lastAttempt: nil, lastError: nil)
            var replay = OverlayReplay(
                user: user, builder: try RecordBuilder(),
                removed: [named, mention].sorted { $0.id < $1.id })
            try replay.add(path, .after(nil), in: &transaction)
            try replay.run(in: &transaction)
        }
        let view = try #require(try fixture.view("c/b"))
        #expect(view.record?.fields == ["n": 1])
        #expect(view.largestBatchID == ids[2])
    }
}
