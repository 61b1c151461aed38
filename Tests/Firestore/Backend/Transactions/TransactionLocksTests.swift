import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderBackend

@Suite("Backend: transactions that wait for each other")
struct TransactionLocksTests {
    private let backend: TestBackend
    private let answers = Answers<CommitResponse>()

    init() throws {
        backend = try TestBackend()
        try backend.commit(.set("c/a", ["n": 1]), .set("c/b", ["n": 2]))
    }

    /// Reads a document at the transaction's turn.
    private func read(_ path: String, in transaction: TransactionID) throws -> MapValue? {
        let path = try DocumentPath(path)
        let _: Void = try backend.answer { completion in
            _ = backend.backend.awaitTurn(
                of: transaction, toRead: ReadTargets(paths: [path]), completion)
        }
        let reading = try backend.backend.documents(
            at: [path], as: Credentials(), in: transaction
        ).readings[0]
        guard case .found(let record, _) = reading.contents else { return nil }
        return record.fields
    }

    private func enqueue(_ mutation: Mutation, in transaction: TransactionID? = nil) {
        if let transaction {
            backend.backend.commit([mutation], in: transaction, as: Credentials()) { [answers] in
                answers.add($0)
            }
        } else {
            backend.backend.commit([mutation], as: Credentials()) { [answers] in answers.add($0) }
        }
        backend.run()
    }

    /// The errors of the commits that have been answered, in order; nil for each success.
    private var codes: [LarderError.Code?] {
        answers.all.map { answer in code { try answer.get() } }
    }

    @Test("A write waits for a transaction that has read its document", arguments: [false, true])
    func waits(isRolledBack: Bool) throws {
        let transaction = try backend.backend.beginTransaction()
        _ = try read("c/a", in: transaction)
        enqueue(try .set("c/a", ["n": 7]))
        enqueue(try .set("c/b", ["n": 7]))
        #expect(answers.all.count == 1)
        #expect(try backend.fields("c/b") == ["n": 7])
        if isRolledBack {
            try backend.backend.rollBack(transaction)
        } else {
            _ = try backend.commit([.set("c/a", ["n": 5])], in: transaction)
        }
        backend.run()
        #expect(answers.all.count == 2)
        #expect(try backend.fields("c/a") == ["n": 7])
    }

    @Test("A later read is of the newest commit, if what was read before has not changed")
    func renewed() throws {
        let transaction = try backend.backend.beginTransaction()
        _ = try read("c/a", in: transaction)
        try backend.commit(.set("c/b", ["n": 8]))
        #expect(try read("c/b", in: transaction) == ["n": 8])
        _ = try backend.commit([.set("c/b", ["n": 9])], in: transaction)
        #expect(try backend.fields("c/b") == ["n": 9])
    }

    @Test("A read never fails: after a conflict it is of the first commit, and the commit fails")
    func conflict() throws {
        let transaction = try backend.backend.beginTransaction()
        _ = try read("c/a", in: transaction)
        enqueue(try .set("c/a", ["n": 7]))
        for _ in 0..<DocumentLocks.patience { backend.backend.core.transactions.locks.tick() }
        backend.run()
        #expect(answers.all.count == 1)
        try backend.commit(.set("c/b", ["n": 8]))
        #expect(try read("c/b", in: transaction) == ["n": 2])
        let write = try Mutation.set("c/x", ["n": 9])
        #expect(code { _ = try backend.commit([write], in: transaction) } == .aborted)
    }

    @Test("After a conflict, transactions that read the same document follow each other")
    func turns() throws {
        let first = try backend.backend.beginTransaction()
        let second = try backend.backend.beginTransaction()
        _ = try read("c/a", in: first)
        _ = try read("c/a", in: second)
        enqueue(try .set("c/a", ["n": 5]), in: second)
        enqueue(try .set("c/a", ["n": 6]), in: first)
        #expect(codes == [.aborted, nil])
        #expect(try backend.fields("c/a") == ["n": 6])
        let third = try backend.backend.beginTransaction()
        let fourth = try backend.backend.beginTransaction()
        _ = try read("c/a", in: third)
        let turns = Answers<Void>()
        let path = try DocumentPath("c/a")
        _ = backend.backend.awaitTurn(of: fourth, toRead: ReadTargets(paths: [path])) {
            turns.add($0)
        }
        #expect(turns.all.isEmpty)
        _ = try backend.commit([.set("c/a", ["n": 7])], in: third)
        #expect(turns.all.count == 1)
        #expect(try read("c/a", in: fourth) == ["n": 7])
        _ = try backend.commit([.set("c/a", ["n": 8])], in: fourth)
    }

    @Test("The end of the backend ends those who wait")
    func closing() throws {
        let transaction = try backend.backend.beginTransaction()
        _ = try read("c/a", in: transaction)
        enqueue(try .set("c/a", ["n": 7]))
        try backend.close()
        #expect(codes == [.unavailable])
        let path = try DocumentPath("c/a")
        #expect(
            code {
                let _: Void = try backend.answer {
                    _ = backend.backend.awaitTurn(
                        of: transaction, toRead: ReadTargets(paths: [path]), $0)
                }
            } == .unavailable)
    }

    @Test("A commit during a read of its transaction is refused, and its locks are released")
    func overlapping() throws {
        let transaction = try backend.backend.beginTransaction()
        _ = try read("c/a", in: transaction)
        let registry = backend.backend.core.transactions
        _ = try registry.beginRead(in: transaction, at: backend.backend.core.clock()) {
            _ throws(LarderError) in
            throw LarderError(.internal, "pinned already")
        }
        let write = try Mutation.set("c/x", ["n": 9])
        #expect(code { _ = try backend.commit([write], in: transaction) } == .aborted)
        enqueue(try .set("c/a", ["n": 7]))
        #expect(answers.all.count == 1)
    }

    @Test("A read-only transaction neither waits nor lets others wait")
    func readOnly() throws {
        let transaction = try backend.backend.beginTransaction(readOnly: true)
        _ = try read("c/a", in: transaction)
        enqueue(try .set("c/a", ["n": 7]))
        #expect(answers.all.count == 1)
        #expect(try read("c/a", in: transaction) == ["n": 1])
    }
}
