import LarderModel
import LarderQuery
import LarderRemote
import LarderStorage
import LarderTestSupport
import Testing

@testable import LarderBackend

@Suite("Backend: the end of transactions")
struct BackendTransactionEndTests {
    private let clock = ManualClock()
    private let backend: TestBackend

    init() throws {
        backend = try TestBackend(clock: clock)
        try backend.commit(.set("c/a", ["n": 1]), .set("c/b", ["n": 2]))
    }

    private func read(_ path: String, in transaction: TransactionID) throws {
        _ = try backend.backend.documents(
            at: [DocumentPath(path)], as: Credentials(), in: transaction)
    }

    @Test("A backend closes while transactions are open")
    func closing() throws {
        let transaction = try backend.backend.beginTransaction()
        try read("c/a", in: transaction)
        let closed = Answers<Void>()
        backend.backend.close { closed.add($0) }
        backend.run()
        #expect(closed.all.count == 1)
        try closed.all.first?.get()
        #expect(code { try read("c/a", in: transaction) } == .unavailable)
        #expect(code { _ = try backend.backend.beginTransaction() } == .unavailable)
        #expect(code { try backend.backend.rollBack(transaction) } == .unavailable)
        for mutations in [[], [try Mutation.set("c/a", ["n": 5])]] {
            let commit = code { _ = try backend.commit(mutations, in: transaction) }
            #expect(commit == .unavailable)
        }
        let query = Query(.collection(try CollectionPath("c")))
        let found = code {
            _ = try backend.backend.runQuery(query, as: Credentials()) { _ in .continue }
        }
        #expect(found == .unavailable)
        #expect(code { _ = try backend.backend.collectionIDs(below: nil) } == .unavailable)
    }

    @Test("A backend closes while a query in a transaction is under way, and begins no other")
    func closingWhileReading() throws {
        let transaction = try backend.backend.beginTransaction()
        let early = try backend.backend.beginTransaction()
        let closed = Answers<Void>()
        let query = Query(.collection(try CollectionPath("c")))
        var ids: [String] = []
        let end = code {
            _ = try backend.backend.runQuery(query, as: Credentials(), in: transaction) {
                document in
                if ids.isEmpty {
                    backend.backend.close { closed.add($0) }
                    backend.run()
                }
                ids.append(document.id)
                #expect(code { try read("c/a", in: early) } == .unavailable)
                #expect(code { _ = try backend.backend.beginTransaction() } == .unavailable)
                #expect(closed.all.isEmpty)
                return .continue
            }
        }
        #expect(ids == ["a", "b"])
        #expect(end == .unavailable)
        #expect(closed.all.count == 1)
        try closed.all.first?.get()
    }

    @Test("Nothing is pinned for a transaction behind the registry's end")
    func registryEnd() throws {
        let registry = TransactionRegistry(from: 1)
        let id = try registry.begin(isReadOnly: false, at: clock.timestamp)
        registry.close()
        var pins = 0
        let end = code {
            _ = try registry.beginRead(in: id, at: clock.timestamp) { _ throws(LarderError) in
                pins += 1
                return try backend.backend.core.store.pinSnapshot()
            }
        }
        #expect(end == .unavailable)
        #expect(pins == 0)
        let late = code { _ = try registry.begin(isReadOnly: false, at: clock.timestamp) }
        #expect(late == .unavailable)
    }

    @Test("So many transactions may be open, and those that expire make room")
    func limit() throws {
        let registry = TransactionRegistry(from: 1)
        for _ in 0..<TransactionRegistry.maxOpen {
            _ = try registry.begin(isReadOnly: false, at: clock.timestamp)
        }
        let full = code { _ = try registry.begin(isReadOnly: false, at: clock.timestamp) }
        #expect(full == .resourceExhausted)
        clock.advance(by: .seconds(TransactionRegistry.maxIdleSeconds + 1))
        let id = try registry.begin(isReadOnly: false, at: clock.timestamp)
        _ = try registry.end(id, writes: false, at: clock.timestamp)
        #expect(registry.isEmpty(at: clock.timestamp))
    }

    @Test("A transaction of before a restart is not one of after it")
    func restart() throws {
        let directory = try TemporaryDirectory()
        let earlier = try TestBackend(directory: directory.file("b"), identity: 7)
        let lost = try earlier.backend.beginTransaction()
        try earlier.close()
        let later = try TestBackend(directory: directory.file("b"), identity: 7 << 40)
        let transaction = try later.backend.beginTransaction()
        #expect(transaction.number >> 63 == 0)
        let write = try Mutation.set("c/a", ["n": 5])
        #expect(code { _ = try later.commit([write], in: lost) } == .invalidArgument)
        _ = try later.commit([write], in: transaction)
    }
}
