import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderBackend

@Suite("Backend: transactions")
struct TransactionRegistryTests {
    private let clock = ManualClock()
    private let backend: TestBackend

    init() throws {
        backend = try TestBackend(clock: clock)
        try backend.commit(.set("c/a", ["n": 1]), .set("c/b", ["n": 2]))
    }

    @discardableResult
    private func read(_ path: String, in transaction: TransactionID) throws -> DocumentReading {
        try backend.backend.documents(
            at: [DocumentPath(path)], as: Credentials(), in: transaction
        ).readings[0]
    }

    private func query(_ filter: Int64, in transaction: TransactionID) throws -> [String] {
        var ids: [String] = []
        let field = FieldFilter(try FieldPath("n"), .greaterThan, .integer(filter))
        let query = Query(.collection(try CollectionPath("c")), filters: [.field(field)])
        _ = try backend.backend.runQuery(query, as: Credentials(), in: transaction) {
            ids.append($0.id)
            return .continue
        }
        return ids
    }

    @Test("A commit succeeds while the documents read, including absent ones, are unchanged")
    func unchanged() throws {
        let transaction = try backend.backend.beginTransaction()
        try read("c/a", in: transaction)
        try read("c/x", in: transaction)
        try backend.commit(.set("c/b", ["n": 3]))
        _ = try backend.commit([.set("c/a", ["n": 5])], in: transaction)
        #expect(try backend.fields("c/a") == ["n": 5])
    }

    @Test(
        "A commit is refused with aborted once what was read has changed",
        arguments: ["set", "delete", "create"])
    func changed(how: String) throws {
        let transaction = try backend.backend.beginTransaction()
        try read("c/a", in: transaction)
        try read("c/x", in: transaction)
        switch how {
        case "set": try backend.commit(.set("c/a", ["n": 3]))
        case "delete": try backend.commit(.delete("c/a"))
        default: try backend.commit(.set("c/x", ["n": 3]))
        }
        let write = try Mutation.set("c/y", ["n": 5])
        #expect(code { _ = try backend.commit([write], in: transaction) } == .aborted)
        #expect(try backend.fields("c/y") == nil)
        #expect(code { _ = try backend.commit([write], in: transaction) } == .invalidArgument)
    }

    @Test("A write returns its document, even if that is deleted immediately afterwards")
    func written() throws {
        let answers = Answers<Document>()
        let deleted = Answers<CommitResponse>()
        let write = try Mutation.patch("c/a", ["m": 3])
        backend.backend.write(write, as: Credentials()) { answers.add($0) }
        backend.backend.commit([try .delete("c/a")], as: Credentials()) { deleted.add($0) }
        backend.run()
        #expect(try answers.all.first?.get().fields == ["m": 3, "n": 1])
        #expect(try deleted.all.first?.get() != nil)
        #expect(try backend.fields("c/a") == nil)
        let refused = try Mutation.patch("c/none", ["m": 3], .exists(true))
        backend.backend.write(refused, as: Credentials()) { answers.add($0) }
        backend.run()
        #expect(code { _ = try answers.all.last?.get() } == .notFound)
    }

    @Test("Changes by earlier commits of the same group count as conflicts")
    func groups() throws {
        let transaction = try backend.backend.beginTransaction()
        try read("c/a", in: transaction)
        let answers = Answers<CommitResponse>()
        let (other, own) = (try Mutation.set("c/a", ["n": 3]), try Mutation.set("c/a", ["n": 5]))
        backend.backend.commit([other], as: Credentials()) { answers.add($0) }
        backend.backend.commit([own], in: transaction, as: Credentials()) { answers.add($0) }
        backend.run()
        #expect(code { _ = try answers.all.last?.get() } == .aborted)
        #expect(try backend.fields("c/a") == ["n": 3])
    }

    @Test("Documents that enter or leave the results of a query read cause a conflict")
    func queries() throws {
        for change in [
            try Mutation.set("c/new", ["n": 9]), try .delete("c/b"), try .set("c/b", ["n": 8]),
        ] {
            let backend = try TestBackend()
            try backend.commit(.set("c/a", ["n": 1]), .set("c/b", ["n": 2]))
            let transaction = try backend.backend.beginTransaction()
            let field = FieldFilter(try FieldPath("n"), .greaterThan, 1)
            let query = Query(.collection(try CollectionPath("c")), filters: [.field(field)])
            _ = try backend.backend.runQuery(query, as: Credentials(), in: transaction) { _ in
                .continue
            }
            let write = try Mutation.set("d/y", ["n": 5])
            let answers = Answers<CommitResponse>()
            backend.backend.commit([change], as: Credentials()) { answers.add($0) }
            backend.backend.commit([write], in: transaction, as: Credentials()) {
                answers.add($0)
            }
            backend.run()
            #expect(answers.all.count == 2)
            #expect(code { _ = try answers.all.last?.get() } == .aborted)
        }
        let transaction = try backend.backend.beginTransaction()
        #expect(try query(1, in: transaction) == ["b"])
        try backend.commit(.set("c/a", ["n": 0]), .set("d/z", ["n": 4]))
        _ = try backend.commit([.set("d/y", ["n": 5])], in: transaction)
    }

    @Test("Figures that were read must stay")
    func aggregates() throws {
        for (path, expected) in [("c/new", LarderError.Code?.some(.aborted)), ("d/new", nil)] {
            let transaction = try backend.backend.beginTransaction()
            let query = Query(.collection(try CollectionPath("c")))
            let sum = Aggregate.sum(try FieldPath("n"))
            let figures = try backend.backend.aggregates(
                [sum, .count], over: query, as: Credentials(), in: transaction)
            #expect(figures.values == [3, 2])
            try backend.commit(.set(path, ["n": 5]))
            let write = try Mutation.set("d/y", ["path": .string(path)])
            #expect(code { _ = try backend.commit([write], in: transaction) } == expected)
            try backend.commit(.delete(path))
        }
    }

    @Test("All reads of a transaction are of one moment, that of the first")
    func oneMoment() throws {
        let transaction = try backend.backend.beginTransaction(readOnly: true)
        try backend.commit(.set("c/b", ["n": 6]))
        let first = try read("c/b", in: transaction).version
        try backend.commit(.set("c/a", ["n": 8]), .set("c/b", ["n": 7]), .set("c/d", ["n": 1]))
        #expect(try read("c/b", in: transaction).version == first)
        #expect(try query(0, in: transaction) == ["a", "b"])
        _ = try backend.commit([], in: transaction)
        #expect(try backend.fields("c/b") == ["n": 7])
    }

    @Test("Transactions beyond those that keep their moment end with aborted instead")
    func unpinned() throws {
        let others = try (0..<TransactionRegistry.maxPinned).map { _ in
            try backend.backend.beginTransaction()
        }
        for other in others { try read("c/a", in: other) }
        let transaction = try backend.backend.beginTransaction()
        try read("c/a", in: transaction)
        try backend.commit(.set("c/b", ["n": 7]))
        #expect(try read("c/b", in: transaction).version == backend.version("c/b"))
        try backend.commit(.set("c/a", ["n": 8]))
        #expect(code { try read("c/b", in: transaction) } == .aborted)
        try read("c/b", in: others[0])
    }

    @Test("A transaction of a moment ends once there was a commit since")
    func ofAMoment() throws {
        // What a backend without history has is its newest commit.
        let moment = try read("c/a", in: backend.backend.beginTransaction()).version
        let early = try backend.backend.beginTransaction(readOnly: true, asOf: moment)
        try read("c/a", in: early)
        let late = try backend.backend.beginTransaction(readOnly: true, asOf: moment)
        try backend.commit(.set("c/a", ["n": 8]))
        try read("c/a", in: early)
        #expect(code { try read("c/a", in: late) } == .failedPrecondition)
    }

    @Test("A transaction for reading only ends without changes")
    func readOnly() throws {
        let transaction = try backend.backend.beginTransaction(readOnly: true)
        let write = try Mutation.set("c/a", ["n": 5])
        #expect(code { _ = try backend.commit([write], in: transaction) } == .invalidArgument)
        _ = try backend.commit([], in: transaction)
        #expect(code { try read("c/a", in: transaction) } == .invalidArgument)
    }

    @Test("A transaction ends by rollback or expiry")
    func ends() throws {
        let rolledBack = try backend.backend.beginTransaction()
        try backend.backend.rollBack(rolledBack)
        #expect(code { try backend.backend.rollBack(rolledBack) } == .invalidArgument)
        let idle = try backend.backend.beginTransaction()
        clock.advance(by: .seconds(61))
        #expect(code { try read("c/a", in: idle) } == .invalidArgument)
        let long = try backend.backend.beginTransaction()
        for _ in 0..<5 {
            clock.advance(by: .seconds(50))
            try read("c/a", in: long)
        }
        clock.advance(by: .seconds(50))
        #expect(code { try read("c/a", in: long) } == .invalidArgument)
        let bytes = long.bytes
        #expect(TransactionID(bytes: bytes) == long)
        #expect(TransactionID(bytes: Array(bytes.dropLast())) == nil)
    }
}

@Suite("Backend: the end of transactions")
struct TransactionExpiryTests {
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

    @Test("Nothing is pinned for a transaction after the registry is closed")
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
