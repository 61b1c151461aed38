import LarderBackend
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderSync

@Suite("Clients that share a store: change that cannot be read")
struct SharingResyncTests {
    @Test("The primary asks anew for targets whose documents have gone meanwhile")
    func forgottenTargets() throws {
        let world = try SharingWorld()
        let (a, b) = (try world.open("a"), try world.open("b"))
        a.listen("all", try .all("c"))
        world.settle()
        a.write(try (0..<3).map { try .set("c/\($0)", $0) })
        world.settle()
        #expect(world.primaries == ["a"] && a["all"].documents.count == 3)

        // Another client takes documents out of the cache, and says so in no way that is known.
        let stranger = LocalStore(
            store: world.store, user: UserID(""), databaseID: DatabaseID(project: "test"))
        #expect(try stranger.evict(Array(a["all"].documents.values)).targetIDs.count == 1)
        try world.store.write { transaction throws(LarderError) in
            let digits = String(transaction.commitNumber, radix: 16)
            let name = String(repeating: "0", count: 16 - digits.count) + digits + ":stranger"
            try transaction.putNamedValue(.journal, name, [0xFF, 0xFF])
        }
        world.signals.announce(from: "stranger")
        a.scheduler.drain()
        #expect(a["all"].documents.isEmpty && a["all"].last?.isFromCache == true)
        world.settle()
        #expect(a["all"].documents.count == 3)
        #expect(a["all"].last?.isFromCache == false)
        world.close(b)
    }

    @Test("What the primary answered while a client slept is asked for again")
    func missedAnswers() throws {
        let secret = try CollectionPath("secret")
        let world = try SharingWorld(rules: { request in
            request.operation == .list(secret) ? .deny(reason: "secret") : .allow
        })
        let (a, b) = (try world.open("a"), try world.open("b"))
        world.settle()
        b.listen("all", try .all("secret"))
        b.client.disableNetwork { _ in }
        let outcome = b.write([try .set("c/x", 1)])
        b.scheduler.drain()
        let answer = Mutex<Result<Bool, LarderError>?>(nil)
        b.client.cancelWrite(try #require(outcome.id)) { result in answer.withLock { $0 = result } }
        b.scheduler.drain()

        // It sleeps longer than others keep change for it.
        world.kill(b)
        world.settle()
        world.pass(.seconds(31 * 60))
        a.write([try .set("c/y", 1)])
        world.settle()
        #expect(try world.rowCount(.journal) == 0)
        #expect(b["all"].error == nil && answer.withLock { $0 } == nil)

        world.wake(b)
        #expect(b["all"].error?.kind == .permissionDenied)
        #expect(try answer.withLock { $0 }?.get() != nil)
        world.settle()
    }

    @Test("News of which all are still to come make a client look at everything, and once")
    func copied() throws {
        let world = try SharingWorld()
        let (a, b) = (try world.open("a"), try world.open("b"))
        a.listen("all", try .all("c"))
        world.settle()
        try world.store.write { (transaction) throws(LarderError) in
            try transaction.setJournalFloor(0xFFFFF)
        }
        b.write([try .set("c/x", 1)])
        b.scheduler.drain()
        a.scheduler.drain()
        #expect(a["all"].documents.count == 1)
    }
}
