import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderBackend

@Suite("Backend: queries under way in transactions")
struct ReadSetTests {
    private let clock = ManualClock()
    private let backend: TestBackend
    private let all: Query

    init() throws {
        backend = try TestBackend(clock: clock)
        all = Query(.collection(try CollectionPath("c")))
        try backend.commit(.set("c/a", ["n": 1]), .set("c/b", ["n": 2]), .set("c/c", ["n": 3]))
    }

    /// Runs a query for the whole collection.
    private func query(
        in transaction: TransactionID, _ body: (Document) throws(LarderError) -> IterationStep
    ) throws(LarderError) {
        _ = try backend.backend.runQuery(all, as: Credentials(), in: transaction, body)
    }

    @Test("A transaction is in use while a query is under way, and commits go on")
    func slow() throws {
        let transaction = try backend.backend.beginTransaction()
        var ids: [String] = []
        try query(in: transaction) { document throws(LarderError) in
            clock.advance(by: .seconds(40))
            try backend.commit([.init(.delete, at: document.path)])
            ids.append(document.id)
            return .continue
        }
        #expect(ids == ["a", "b", "c"])
        try backend.backend.rollBack(transaction)
    }

    @Test("A transaction ends in time, also while a query is under way")
    func tooSlow() throws {
        let transaction = try backend.backend.beginTransaction()
        var ids: [String] = []
        let end = code {
            try query(in: transaction) { document throws(LarderError) in
                clock.advance(by: .seconds(100))
                try backend.commit([.init(.delete, at: document.path)])
                ids.append(document.id)
                return .continue
            }
        }
        #expect(ids == ["a", "b", "c"])
        #expect(end == .invalidArgument)
        try backend.close()
    }

    /// The code with which a commit ends that follows a query and a change; nil for none.
    ///
    /// - Parameter end: makes the query end with its second document.
    private func outcome(
        after change: Mutation, _ end: () throws(LarderError) -> IterationStep
    ) throws -> LarderError.Code? {
        let transaction = try backend.backend.beginTransaction()
        var count = 0
        let failure = code {
            try query(in: transaction) { _ throws(LarderError) in
                count += 1
                return count == 2 ? try end() : .continue
            }
        }
        #expect(count == 2)
        #expect(failure == nil || failure == .cancelled)
        try backend.commit([change])
        let write = try Mutation.set("d/y", ["n": 5])
        return code { _ = try backend.commit([write], in: transaction) }
    }

    @Test("Results read before a query was aborted are verified, the others are not")
    func cutOff() throws {
        let stop = { () throws(LarderError) -> IterationStep in
            throw LarderError(.cancelled, "the client left")
        }
        #expect(try outcome(after: .set("c/c", ["n": 7]), stop) == nil)
        #expect(try outcome(after: .set("c/b", ["n": 8]), stop) == .aborted)
        #expect(try outcome(after: .set("c/aa", ["n": 9]), stop) == .aborted)
    }

    @Test("Results read before a query was stopped are verified, the others are not")
    func stopped() throws {
        let stop = { () throws(LarderError) in IterationStep.stop }
        #expect(try outcome(after: .set("d/x", ["n": 6]), stop) == nil)
        #expect(try outcome(after: .set("c/c", ["n": 7]), stop) == nil)
        #expect(try outcome(after: .set("c/b", ["n": 8]), stop) == .aborted)
        #expect(try outcome(after: .set("c/aa", ["n": 9]), stop) == .aborted)
    }

    @Test("Results of a limit to last read before it was stopped are verified")
    func stoppedLast() throws {
        var last = all
        last.limit = .last(2)
        last.explicitOrders = [Order(try FieldPath("n"))]
        for (path, expected) in [("c/b", LarderError.Code?.some(.aborted)), ("c/a", nil)] {
            let transaction = try backend.backend.beginTransaction()
            var ids: [String] = []
            _ = try backend.backend.runQuery(last, as: Credentials(), in: transaction) {
                ids.append($0.id)
                return .stop
            }
            #expect(ids == ["b"])
            try backend.commit(.patch(path, ["m": 1]))
            let write = try Mutation.set("d/y", ["n": 5])
            #expect(code { _ = try backend.commit([write], in: transaction) } == expected)
        }
    }

    @Test("A commit with changes is refused while a query is under way, one without is not")
    func commitWhileReading() throws {
        let write = try Mutation.set("d/y", ["n": 5])
        for (mutations, expected) in [([write], LarderError.Code?.some(.aborted)), ([], nil)] {
            let transaction = try backend.backend.beginTransaction()
            var outcome: LarderError.Code?
            let end = code {
                try query(in: transaction) { _ throws(LarderError) in
                    outcome = code { _ = try backend.commit(mutations, in: transaction) }
                    return .stop
                }
            }
            #expect(outcome == expected)
            #expect(end == .invalidArgument)
        }
    }

    @Test("Queries and values are counted with what was read, and each document once")
    func bytes() throws {
        var reads = ReadSet()
        let version = SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 0))
        for _ in 0..<2 { reads.add(try DocumentPath("c/a"), version) }
        var more = ReadSet()
        more.add(try DocumentPath("c/a"), version)
        reads.formUnion(more, at: version)
        #expect((80..<100).contains(reads.bytes))
        let text = Value.string(String(repeating: "x", count: 10_000))
        var query = all
        query.filters = [.field(FieldFilter(try FieldPath("n"), .equal, text))]
        reads.add(query, [])
        #expect((10_000..<11_000).contains(reads.bytes))
        more.add(query, offset: 0, [.maximum(try FieldPath("n")): text])
        reads.formUnion(more, at: version)
        #expect((30_000..<33_000).contains(reads.bytes))
    }
}
