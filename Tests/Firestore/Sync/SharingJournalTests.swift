import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderSync

@Suite("The journal of a store that clients share")
struct SharingJournalTests {
    private let store: Store
    private let hub = SignalHub()

    init() throws {
        store = try Store(.inMemory())
    }

    private func journal(_ id: String) -> Journal { Journal(clientID: id, signal: hub) }

    private func row(_ id: String, _ seconds: Int, heard: UInt64 = 0) -> ClientRow<Int32> {
        ClientRow(id: id, time: .seconds(seconds), appliedCommit: heard)
    }

    @discardableResult
    private func tell(_ journal: Journal, _ path: String) throws -> Bool {
        var change = SharedChange()
        change.note([DocumentPath(unchecked: path)])
        return try store.write { (transaction) throws(LarderError) in
            try journal.append(change, to: &transaction)
        }
    }

    private func heard(
        _ journal: Journal, after commit: UInt64, limit: Int = 100
    ) throws -> (entries: [ChangeLog.Entry], last: UInt64) {
        try store.read { (transaction) throws(LarderError) in
            try journal.log.entries(after: commit, limit: limit, in: transaction)
        }
    }

    private var entryCount: Int {
        get throws {
            try store.read { (transaction) throws(LarderError) in
                try transaction.namedValueCount(.journal)
            }
        }
    }

    @Test("Who waited for another's commit takes its time from then, and the other for alive")
    func waiting() throws {
        let (a, b) = (journal("a"), journal("b"))
        #expect(try a.join(row("a", 1), at: { .seconds(10) }, in: store).hasLease)
        #expect(try !b.join(row("b", 5), at: { .seconds(11) }, in: store).hasLease)
        #expect(try tell(b, "c/1"))
        #expect(
            try a.renew(row("a", 5), at: { .seconds(12) }, isForced: false, in: store).hadLease)
        #expect(
            try !b.renew(row("b", 5), at: { .seconds(13) }, isForced: false, in: store).hasLease)
    }

    @Test("A client alone writes none; each hears the others, not itself, in order")
    func others() throws {
        let (a, b) = (journal("a"), journal("b"))
        let joined = try a.join(row("a", 1), in: store)
        #expect(joined.hasLease)
        #expect(try !tell(a, "c/1"))
        #expect(try entryCount == 0)

        let other = try b.join(row("b", 2), in: store)
        #expect(!other.hasLease)
        #expect(try tell(a, "c/2"))
        #expect(try tell(b, "c/3"))
        #expect(try tell(a, "c/4"))
        let change = try heard(b, after: other.commit)
        #expect(change.entries.map { $0.change?.documents?.first?.string } == ["c/2", "c/4"])
        #expect(change.entries.allSatisfy { $0.origin == "a" && $0.commit > other.commit })
        #expect(try heard(b, after: change.last).entries.isEmpty)

        let first = try heard(b, after: other.commit, limit: 1)
        #expect(first.entries.count == 1)
        #expect(try heard(b, after: first.last).entries.map(\.commit) == [change.last])
        #expect(try heard(a, after: joined.commit).entries.count == 1)
    }

    @Test("A transaction that fails tells nothing")
    func failure() throws {
        let a = journal("a")
        _ = try a.join(row("a", 1), in: store)
        _ = try journal("b").join(row("b", 1), in: store)
        #expect(throws: LarderError.self) {
            try store.write { (transaction) throws(LarderError) in
                var change = SharedChange()
                change.note([DocumentPath(unchecked: "c/1")])
                _ = try a.append(change, to: &transaction)
                throw LarderError(.aborted, "not now")
            }
        }
        #expect(try entryCount == 0)
    }

    @Test("What all have heard is forgotten; one that is asleep holds nothing back")
    func trimming() throws {
        let (a, b) = (journal("a"), journal("b"))
        _ = try a.join(row("a", 1), in: store)
        let other = try b.join(row("b", 1), in: store)
        for number in 0..<5 { try tell(a, "c/\(number)") }
        _ = try a.renew(row("a", 4), isForced: false, in: store)
        #expect(try entryCount == 5)
        let half = try heard(b, after: other.commit).entries[2].commit
        _ = try b.renew(row("b", 5, heard: half), isForced: false, in: store)
        _ = try a.renew(row("a", 8), isForced: false, in: store)
        #expect(try entryCount == 2)
        #expect(
            try store.read { (transaction) throws(LarderError) in
                try transaction.journalFloor()
            } <= half)
        _ = try a.renew(row("a", 70), isForced: false, in: store)
        #expect(try entryCount == 0)
        #expect(
            try store.read { (transaction) throws(LarderError) in
                try transaction.journalFloor()
            } > half)
    }

    @Test("The first client forgets what former ones left; a lost client must look anew")
    func leftovers() throws {
        let (a, b, c) = (journal("a"), journal("b"), journal("c"))
        _ = try a.join(row("a", 1), in: store)
        _ = try b.join(row("b", 1), in: store)
        try tell(a, "c/1")
        try store.write { (transaction) throws(LarderError) in
            try transaction.setCurrent(true, target: 2)
        }
        let late = try c.join(row("c", 3_000), in: store)
        #expect(late.hasLease)
        let (clients, isCurrent, floor) = try store.read { (transaction) throws(LarderError) in
            (
                try transaction.clients(), try transaction.isCurrent(target: 2),
                try transaction.journalFloor()
            )
        }
        #expect(clients.map(\.id) == ["c"])
        #expect(!isCurrent)
        #expect(floor == late.commit)
        #expect(try entryCount == 0)

        _ = try b.join(row("b", 3_000), in: store)
        let renewed = try c.renew(row("c", 5_000), isForced: false, in: store)
        #expect(renewed.lostClients == ["b"])
        #expect(
            try store.read { (transaction) throws(LarderError) in
                try transaction.journalFloor()
            } == renewed.commit)
    }

    @Test("Names of commits that are still to come hold nobody back, and go when a client comes")
    func copied() throws {
        let (a, b) = (journal("a"), journal("b"))
        _ = try a.join(row("a", 1), in: store)
        let joined = try b.join(row("b", 1), in: store)
        try store.write { (transaction) throws(LarderError) in
            try transaction.putNamedValue(.journal, "00000000000fffff:x", [4])
        }
        let change = try heard(b, after: joined.commit, limit: 1)
        #expect(change.entries.isEmpty && change.last == joined.commit + 1)

        let other = try b.join(row("b", 2), in: store)
        #expect(other.hasLease)
        #expect(try entryCount == 0)
        _ = try a.join(row("a", 3), in: store)
        try store.write { (transaction) throws(LarderError) in
            try transaction.setJournalFloor(0xFFFFF)
        }
        let last = try a.join(row("a", 4), in: store)
        let (clients, floor) = try store.read { (transaction) throws(LarderError) in
            (try transaction.clients(), try transaction.journalFloor())
        }
        #expect(clients.map(\.id) == ["a"] && floor == last.commit)
    }

    @Test("The lease is asked for in the transaction; leaving frees it")
    func lease() throws {
        let (a, b) = (journal("a"), journal("b"))
        _ = try a.join(row("a", 1), in: store)
        let waiting = try b.join(row("b", 3), in: store)
        #expect(waiting.nextLook == .milliseconds(3_001))
        try store.read { (transaction) throws(LarderError) in
            try a.requireLease(in: transaction)
        }
        #expect(throws: LarderError.leaseLost) {
            try store.read { (transaction) throws(LarderError) in
                try b.requireLease(in: transaction)
            }
        }
        let other = try heard(b, after: waiting.commit).last
        try a.leave(store)
        let change = try heard(b, after: other).entries.map(\.change)
        #expect(change.first??.hasLeft == true && change.first??.freesLease == true)
        let taken = try b.renew(row("b", 4), isForced: false, in: store)
        #expect(!taken.hadLease && taken.hasLease)
    }

    @Test("Damaged rows are as none, and a damaged entry says that anything may have changed")
    func damage() throws {
        let (a, b) = (journal("a"), journal("b"))
        _ = try a.join(row("a", 1), in: store)
        let joined = try b.join(row("b", 1), in: store)
        try store.write { (transaction) throws(LarderError) in
            try transaction.putNamedValue(.client, "x", [1, 2, 3])
            try transaction.putNamedValue(.shared, "lease", [9])
            try transaction.putNamedValue(.shared, "network", [])
            let digits = String(transaction.commitNumber, radix: 16)
            let padding = String(repeating: "0", count: 16 - digits.count)
            try transaction.putNamedValue(.journal, padding + digits + ":x", [4])
            try transaction.putNamedValue(.journal, "ffffffffffffffff:x", [4])
            try transaction.putNamedValue(.journal, "nonsense", [4])
        }
        try store.read { (transaction) throws(LarderError) in
            #expect(try transaction.clients().map(\.id) == ["a", "b"])
            #expect(try transaction.lease() == nil)
            #expect(try transaction.sharedNetworkState() == nil)
        }
        let entries = try heard(b, after: joined.commit).entries
        #expect(entries.map(\.origin) == ["x"])
        #expect(entries.first?.change == nil)
    }
}

extension Journal {
    /// Joins at the time of the client's row.
    fileprivate func join(_ own: ClientRow<Int32>, in store: Store) throws(LarderError)
        -> ClientScan
    {
        try join(own, at: { own.time }, in: store)
    }

    /// Renews at the time of the client's row.
    fileprivate func renew(_ own: ClientRow<Int32>, isForced: Bool, in store: Store)
        throws(LarderError) -> ClientScan
    {
        try renew(own, at: { own.time }, isForced: isForced, in: store)
    }
}

extension ChangeLog.Entry {
    fileprivate var change: SharedChange? { SharedChange(payload: payload) }
}
