import LarderCore
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderBackend

@Suite("Backend: suspended reads")
struct DocumentCursorTests {
    private let backend: TestBackend

    init() throws {
        backend = try TestBackend()
        // In the order of names 1 to 9, in that of the field 9 to 1.
        for number in 1..<10 { try set(number) }
    }

    private func set(_ number: Int, _ value: Int? = nil) throws {
        try backend.commit(.set("c/\(number)", ["n": .integer(Int64(value ?? 10 - number))]))
    }

    private func query(
        ordered: Bool = false, isDescending: Bool = false, limit: Query.Limit? = nil
    ) throws -> Query {
        Query(
            .collection(try CollectionPath("c")),
            orders: ordered ? [Order(try FieldPath("n"), isDescending: isDescending)] : [],
            limit: limit)
    }

    private func cursor(
        _ source: DocumentCursor.Source, in transaction: TransactionID? = nil,
        memory: MemoryAccount? = nil
    ) -> DocumentCursor {
        backend.backend.cursor(source, as: Credentials(), in: transaction, memory: memory)
    }

    /// The next document; nil for none.
    private func next(_ cursor: DocumentCursor, maxBytes: Int = 1) throws -> [String] {
        var ids: [String] = []
        _ = try cursor.next(maxBytes: maxBytes) { version, path, document throws(LarderError) in
            #expect(!version.isNone)
            ids.append(document == nil ? "no \(path.id)" : path.id)
        }
        return ids
    }

    /// All documents, in portions.
    private func all(
        _ cursor: DocumentCursor, maxBytes: Int = 1, between: () throws -> Void = {}
    ) throws -> [String] {
        var ids: [String] = []
        while true {
            let (_, isLast) = try cursor.next(maxBytes: maxBytes) { _, path, _ in
                ids.append(path.id)
            }
            if isLast { return ids }
            try between()
        }
    }

    @Test("A backend closes in spite of suspended reads, which fail then")
    func closes() throws {
        let cursor = cursor(.query(try query()))
        #expect(try next(cursor).count == 1)
        let isClosed = Box(false)
        backend.backend.close { result in
            isClosed.withLock { $0 = (try? result.get()) != nil }
        }
        backend.run()
        #expect(isClosed.withLock { $0 })
        #expect(code { _ = try next(cursor) } == .unavailable)
        cursor.close()
    }

    @Test(
        "Portions of any size are the whole result, whatever the plan", arguments: [1, 200, 10_000])
    func portions(maxBytes: Int) throws {
        let up = (1..<10).map(String.init)
        let down = Array(up.reversed())
        let cases: [(Query, [String])] = [
            (try query(), up), (try query(limit: .first(4)), Array(up.prefix(4))),
            (try query(limit: .last(4)), Array(up.suffix(4))),
            (try query(ordered: true), down),
            (try query(ordered: true, limit: .first(4)), Array(down.prefix(4))),
            (try query(ordered: true, limit: .last(4)), Array(down.suffix(4))),
            (try query(ordered: true, isDescending: true), up),
        ]
        for (query, expected) in cases {
            #expect(try all(cursor(.query(query)), maxBytes: maxBytes) == expected)
            // Read anew from the position before each portion.
            let slow = cursor(.query(query))
            #expect(try all(slow, maxBytes: maxBytes) { slow.unpin() } == expected)
        }
    }

    @Test("A suspended query is of one commit, until it is released", arguments: [false, true])
    func snapshot(ordered: Bool) throws {
        let cursor = cursor(.query(try query(ordered: ordered, isDescending: ordered)))
        #expect(try next(cursor) == ["1"])
        try backend.commit(.delete("c/2"), .delete("c/3"))
        #expect(try next(cursor) == ["2"])
        cursor.unpin()
        #expect(try next(cursor) == ["4"])
        try backend.commit(.delete("c/5"))
        #expect(try next(cursor) == ["5"])
    }

    @Test("What a query has passed is not read again, and what moved ahead is")
    func moved() throws {
        let cursor = cursor(.query(try query(ordered: true)))
        #expect(try next(cursor) == ["9"])
        #expect(try next(cursor) == ["8"])
        // To the end, and to the beginning.
        try set(9, 20)
        try set(1, 0)
        cursor.unpin()
        #expect(try all(cursor) == ["7", "6", "5", "4", "3", "2", "9"])
    }

    @Test("Documents by name include missing ones, in order, and are of one commit")
    func paths() throws {
        let paths = try ["c/1", "c/x", "c/3", "d/y"].map { try DocumentPath($0) }
        let cursor = cursor(.paths(paths))
        #expect(try next(cursor) == ["1"])
        try backend.commit(.delete("c/3"), .set("c/x", [:]))
        #expect(try next(cursor) == ["no x"])
        #expect(try next(cursor) == ["3"])
        #expect(try next(cursor) == ["no y"])
        #expect(try next(self.cursor(.paths([]))).isEmpty)
    }

    @Test("A closed cursor reads nothing more, and releases its commit")
    func closed() throws {
        let cursor = cursor(.query(try query()))
        _ = try next(cursor)
        #expect(backend.backend.core.pins.withLock({ $0.snapshots.count }) == 1)
        cursor.close()
        cursor.close()
        #expect(backend.backend.core.pins.withLock({ $0.snapshots.count }) == 0)
        #expect(throws: LarderError.self) { try next(cursor) }
    }

    @Test("Only a limited number of cursors pin a commit; the others read the newest")
    func pins() throws {
        let query = try query(ordered: true)
        let cursors = (0...DocumentCursor.maxPinned).map { _ in cursor(.query(query)) }
        for cursor in cursors { #expect(try next(cursor) == ["9"]) }
        try backend.commit(.delete("c/8"))
        #expect(try next(cursors[0]) == ["8"])
        #expect(try next(try #require(cursors.last)) == ["7"])
    }

    @Test("A transaction whose read is suspended conflicts with changes of what it has read")
    func transactions() throws {
        for (ordered, changed, isConflict) in [
            (false, "c/1", true), (false, "c/9", false), (true, "c/8", true), (false, "c/0", true),
        ] {
            let transaction = try backend.backend.beginTransaction()
            let cursor = cursor(.query(try query(ordered: ordered)), in: transaction)
            _ = try next(cursor)
            _ = try next(cursor)
            try backend.commit(.set(changed, ["n": 77]))
            let code = code { _ = try backend.commit([.set("d/z", [:])], in: transaction) }
            #expect(code == (isConflict ? .aborted : nil), "\(changed)")
            try backend.commit(.delete("c/0"))
            for number in 1..<10 { try set(number) }
        }
    }

    @Test("Names that are still to be read are charged until the cursor is closed")
    func memory() throws {
        let ledger = MemoryLedger(limit: .max)
        let account = ledger.open { $0() }
        let sorted = cursor(.query(try query(ordered: true)), memory: account)
        _ = try next(sorted)
        let held = ledger.heldBytes
        #expect(held > 8 * 40)
        _ = try next(sorted)
        #expect(ledger.heldBytes < held)
        sorted.close()
        #expect(ledger.heldBytes == 0)
        account.close()
    }

    @Test("Documents that are sorted are charged while the query runs, no more than its limit")
    func sorting() throws {
        for number in 1..<10 {
            try backend.commit(
                .set(
                    "c/\(number)",
                    [
                        "n": .integer(Int64(10 - number)),
                        "s": .string(String(repeating: "x", count: 50_000)),
                    ]))
        }
        let ledger = MemoryLedger(limit: .max)
        let account = ledger.open { $0() }
        func most(_ limit: Query.Limit?) throws -> Int {
            var most = 0
            _ = try backend.backend.runQuery(
                try query(ordered: true, limit: limit), as: Credentials(), memory: account
            ) { _ in
                most = max(most, ledger.heldBytes)
                return .continue
            }
            #expect(ledger.heldBytes == 0)
            return most
        }
        #expect((350_000..<550_000).contains(try most(nil)))
        #expect((64_000..<200_000).contains(try most(.first(3))))
        let cursor = cursor(.query(try query(ordered: true)), memory: account)
        _ = try next(cursor)
        // What is left are names.
        #expect((1..<2_000).contains(ledger.heldBytes))
        account.close()
        #expect(code { _ = try most(nil) } == .cancelled)
    }

    @Test("The client whose transactions have read the most loses one, not who has the largest")
    func readSetsOfClients() async throws {
        let ledger = MemoryLedger(limit: 15_000)
        var configuration = BackendConfiguration(project: "p")
        configuration.ledger = ledger
        configuration.clock = { Timestamp(seconds: 1, nanoseconds: 0) }
        let backend = try Backend(configuration)
        let clients = (0..<2).map { _ in ledger.open { $0() } }
        func read(_ count: Int, in transaction: TransactionID) throws {
            let paths = try (0..<count).map { try DocumentPath("c/\($0)") }
            _ = try backend.documents(at: paths, as: Credentials(), in: transaction)
        }
        let honest = try backend.beginTransaction(for: clients[0])
        try read(60, in: honest)
        var others: [TransactionID] = []
        for _ in 0..<12 {
            let other = try backend.beginTransaction(for: clients[1])
            others.append(other)
            do { try read(20, in: other) } catch let error as LarderError {
                #expect(error.kind == .invalidArgument)
            }
            while ledger.heldBytes > 15_000 { await Task.yield() }
        }
        try read(1, in: honest)
        #expect(others.count { other in code { try read(1, in: other) } != nil } > 0)
        for other in others { try? backend.rollBack(other) }
        try backend.rollBack(honest)
        #expect(ledger.heldBytes == 0)
        for client in clients { client.close() }
        try await backend.close()
    }

    @Test("A transaction that has read too much for the server's memory is ended first")
    func readSets() async throws {
        let ledger = MemoryLedger(limit: 3_000)
        var configuration = BackendConfiguration(project: "p")
        configuration.ledger = ledger
        configuration.clock = { Timestamp(seconds: 1, nanoseconds: 0) }
        let backend = try Backend(configuration)
        let (small, large) = (try backend.beginTransaction(), try backend.beginTransaction())
        func read(_ count: Int, in transaction: TransactionID) throws {
            let paths = try (0..<count).map { try DocumentPath("c/\($0)") }
            _ = try backend.documents(at: paths, as: Credentials(), in: transaction)
        }
        try read(2, in: small)
        #expect(ledger.heldBytes > 0)
        // The transaction may be ended as soon as it exceeds the limit, within this read.
        do { try read(100, in: large) } catch let error as LarderError {
            #expect(error.kind == .invalidArgument)
        }
        while ledger.heldBytes > 3_000 { await Task.yield() }
        #expect(throws: LarderError.self) { try read(1, in: large) }
        try read(3, in: small)
        try await backend.close()
        #expect(ledger.heldBytes == 0)
    }
}
