import Foundation
import LarderBackend
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@Suite("Clients that share a store")
struct SharingClientsTests {
    private let world: SharingWorld

    init() throws {
        world = try SharingWorld()
    }

    private func number(_ client: SharingClient, _ listener: String, _ path: String) throws
        -> Value?
    {
        client[listener].documents[try DocumentPath(path)]?[try FieldPath("n")]
    }

    @Test(
        "Writes of one reach the others, and the backend through the primary; the writer completes")
    func write() throws {
        let (a, b) = (try world.open("a"), try world.open("b"))
        world.settle()
        #expect(world.primaries == ["a"])
        b.listen("all", try .all("c"))
        world.settle()
        let outcome = b.write([try .set("c/x", 1)])
        a.scheduler.drain()
        b.scheduler.drain()
        #expect(b["all"].last?.hasPendingWrites == true)
        world.settle()
        #expect(outcome.isAcknowledged)
        #expect(b["all"].last?.hasPendingWrites == false)
        #expect(b["all"].last?.isFromCache == false)
        #expect(try b.client.pendingWrites().isEmpty)
        #expect(b.state?.targets.isEmpty == true)
        #expect(a.state?.targets.count == 1)
    }

    @Test("A store that was put back to when it was in use goes on, and no write is lost")
    func putBack() throws {
        let folder = try TemporaryDirectory()
        let (path, kept) = (folder.file("store"), folder.file("kept"))
        var storage = StoreConfiguration(directory: path)
        storage.durability = .lastCommitAtRisk
        let world = try SharingWorld(storage)
        func increment(_ client: SharingClient) throws -> SharingClient.Outcome {
            let increment = FieldTransform(try FieldPath("n"), .increment(.integer(1)))
            return client.write([
                Mutation(
                    .patch(try Record([:]), FieldMask([])), at: try DocumentPath("c/x"),
                    transforms: [increment])
            ])
        }
        func openBoth() throws -> [SharingClient] {
            let clients = [try world.open("a"), try world.open("b")]
            for client in clients { client.listen("all", try .all("c")) }
            world.pass(.seconds(10))
            return clients
        }
        var clients = try openBoth()
        for client in clients { _ = try increment(client) }
        world.settle()
        try world.store.copy(to: kept)
        for client in clients + clients { _ = try increment(client) }
        world.settle()
        var total: Int64 = 6
        for _ in 0..<2 {
            try world.reopenStore {
                try FileManager.default.removeItem(atPath: path)
                try FileManager.default.copyItem(atPath: kept, toPath: path)
            }
            clients = try openBoth()
            #expect(world.primaries.count == 1)
            for client in clients + clients {
                let outcome = try increment(client)
                world.settle()
                #expect(outcome.isAcknowledged)
                total += 1
            }
            for client in clients {
                #expect(try number(client, "all", "c/x") == .integer(total))
                #expect(client["all"].last?.isFromCache == false)
                #expect(client["all"].last?.hasPendingWrites == false)
            }
        }
        let document = try world.backend.document(at: try DocumentPath("c/x"))
        #expect(document?.fields["n"] == .integer(total))
        for client in clients { world.close(client) }
    }

    @Test("Alone, a client keeps no journal; two keep none for longer than both need")
    func journal() throws {
        let a = try world.open("a")
        world.settle()
        for number in 0..<10 { a.write([try .set("c/\(number)", number)]) }
        world.settle()
        #expect(try world.rowCount(.journal) == 0)
        let b = try world.open("b")
        b.listen("all", try .all("c"))
        world.settle()
        for number in 0..<10 {
            a.write([try .set("c/\(number)", number + 1)])
            world.settle()
        }
        #expect(try world.rowCount(.journal) > 0)
        #expect(b["all"].documents.count == 10)
        world.pass(.seconds(9))
        #expect(try world.rowCount(.journal) == 0)
    }

    @Test("The network of a client that is killed passes on five seconds after it last renewed")
    func killedPrimary() throws {
        let (a, b) = (try world.open("a"), try world.open("b"))
        b.listen("all", try .all("c"))
        world.settle()
        world.pass(.seconds(30))
        #expect(world.primaries == ["a"])
        let outcome = b.write([try .set("c/x", 1)])
        b.scheduler.drain()
        world.kill(a)
        world.pass(.milliseconds(900))
        #expect(world.primaries.isEmpty)
        #expect(!outcome.isAcknowledged)
        world.pass(.milliseconds(4_200))
        #expect(world.primaries == ["b"])
        #expect(outcome.isAcknowledged)
        #expect(b["all"].last?.isFromCache == false)
        #expect(b.state?.activeClientCount == 2)
        world.pass(.seconds(31 * 60))
        #expect(b.state?.activeClientCount == 1)
    }

    @Test("A primary that ends hands the network on at once, with what others listen to")
    func closedPrimary() throws {
        let (a, b, c) = (try world.open("a"), try world.open("b"), try world.open("c"))
        c.listen("all", try .all("c"))
        world.settle()
        world.close(a)
        world.pass(.milliseconds(1))
        #expect(world.primaries == ["b"])
        #expect(b.state?.targets.count == 1)
        let outcome = c.write([try .set("c/x", 1)])
        world.settle()
        #expect(outcome.isAcknowledged)
        #expect(c["all"].last?.isFromCache == false)
        #expect(c["all"].documents.count == 1)
    }

    @Test("A client that slept until it was forgotten compares everything with the store")
    func sleeper() throws {
        let (a, b) = (try world.open("a"), try world.open("b"))
        b.listen("all", try .all("c"))
        let early = b.write([try .set("c/early", 1)])
        b.scheduler.drain()
        world.kill(b)
        a.scheduler.drain()
        world.pass(.seconds(31 * 60))
        #expect(a.state?.activeClientCount == 1)
        a.write([try .set("c/x", 1)])
        world.settle()
        #expect(try world.rowCount(.journal) == 0)
        #expect(b["all"].documents.count == 1)
        #expect(!early.isAcknowledged)

        // It wakes: its timer is long due.
        b.scheduler.fireDue()
        a.scheduler.drain()
        b.scheduler.drain()
        #expect(early.isAcknowledged)
        #expect(b["all"].documents.count == 2)
        let late = b.write([try .set("c/y", 1)])
        b.scheduler.drain()
        world.settle()
        a.scheduler.drain()
        world.settle()
        b.scheduler.drain()
        #expect(late.isAcknowledged)
    }

    @Test("A primary that slept finds the network taken: its answers do not count")
    func sleepingPrimary() throws {
        let (a, b) = (try world.open("a"), try world.open("b"))
        a.listen("all", try .all("c"))
        world.settle()
        let outcome = a.write([try .set("c/x", 1)])
        a.scheduler.drain()
        world.drainBackend()
        // The answers wait for it, but it sleeps.
        world.kill(a)
        world.pass(.seconds(10))
        #expect(world.primaries == ["b"])
        a.scheduler.drain()
        #expect(a.state?.isPrimary == false)
        world.settle()
        a.scheduler.drain()
        #expect(outcome.isAcknowledged)
        #expect(try a.client.pendingWrites().isEmpty)
        #expect(try number(a, "all", "c/x") == .integer(1))
        b.write([try .set("c/x", 2)])
        world.settle()
        a.scheduler.drain()
        #expect(try number(a, "all", "c/x") == .integer(2))
        #expect(a["all"].last?.isFromCache == false)
    }

    @Test("Only what has changed is looked at, however many listen")
    func cost() throws {
        let (a, b) = (try world.open("a"), try world.open("b"))
        for number in 0..<200 { b.listen("\(number)", try .all("c\(number)"), source: .cache) }
        world.settle()
        let before = try #require(b.state?.examinedViewCount)
        a.write([try .set("c7/x", 1)])
        a.scheduler.drain()
        b.scheduler.drain()
        #expect(b["7"].documents.count == 1)
        #expect(try #require(b.state?.examinedViewCount) - before == 1)
    }

    @Test("News that cannot be read makes clients look at everything")
    func damagedNews() throws {
        let (a, b) = (try world.open("a"), try world.open("b"))
        b.listen("all", try .all("c"))
        world.settle()
        a.write([try .set("c/x", 1)])
        a.scheduler.drain()
        try world.store.write { (transaction) throws(LarderError) in
            for name in try transaction.namedValueNames(.journal) {
                try transaction.putNamedValue(.journal, name, [1, 2, 3])
            }
        }
        b.scheduler.drain()
        #expect(b["all"].documents.count == 1)
    }

    @Test("A client ends with the store that is closed under it")
    func closedStore() throws {
        let (a, b) = (try world.open("a"), try world.open("b"))
        world.settle()
        try world.store.close()
        world.signals.announce(from: "")
        world.settle()
        #expect(a.client.isTerminated && b.client.isTerminated)
    }

    @Test("A client without a signal or a directory cannot share; an id must fit")
    func refusals() throws {
        var configuration = ClientConfiguration(
            storage: .inMemory(), databaseID: DatabaseID(project: "test"))
        configuration.sharing = Sharing()
        #expect(throws: LarderError.self) { try Client(configuration) }
        configuration.sharing = Sharing(clientID: "", signal: world.signals)
        #expect(throws: LarderError.self) { try Client(configuration) }
    }
}

extension SharingClientsTests {
    /// What became of taking a write back.
    private final class Cancelled: Sendable {
        private let result = Mutex<Bool?>(nil)

        init(_ client: SharingClient, _ outcome: SharingClient.Outcome) {
            client.client.cancelWrite(outcome.id ?? 0) { [weak self] result in
                self?.result.withLock { $0 = try? result.get() }
            }
        }

        var wasCancelled: Bool? { result.withLock { $0 } }
    }

    @Test("A write is taken back through the primary, unless that has sent it")
    func cancelling() throws {
        let (a, b) = (try world.open("a"), try world.open("b"))
        b.listen("all", try .all("c"))
        world.settle()
        b.client.disableNetwork { _ in }
        world.settle()
        a.client.disableNetwork { _ in }
        world.settle()
        let kept = b.write([try .set("c/kept", 1)])
        let dropped = b.write([try .set("c/dropped", 1)])
        world.settle()
        #expect(b["all"].documents.count == 2)
        let first = Cancelled(b, dropped)
        world.settle()
        #expect(first.wasCancelled == true)
        #expect(dropped.failure?.kind == .cancelled)
        #expect(b["all"].documents.count == 1)
        #expect(try a.client.pendingWrites().map(\.id) == [kept.id])

        // Sent, but not answered.
        a.client.enableNetwork { _ in }
        for _ in ["opens", "shakes hands"] {
            a.scheduler.drain()
            world.drainBackend()
        }
        a.scheduler.drain()
        let second = Cancelled(b, kept)
        b.scheduler.drain()
        a.scheduler.drain()
        b.scheduler.drain()
        world.settle()
        #expect(second.wasCancelled == false)
        #expect(kept.isAcknowledged)
        #expect(Cancelled(b, kept).wasCancelled == nil)
    }

    /// Two clients, the first of them primary, of which neither uses the network.
    private func openOffline() throws -> (SharingClient, SharingClient) {
        let (a, b) = (try world.open("a"), try world.open("b"))
        world.settle()
        b.client.disableNetwork { _ in }
        world.settle()
        a.client.disableNetwork { _ in }
        world.settle()
        return (a, b)
    }

    @Test("A request to cancel a write belongs to the user who made it, whoever signs in")
    func cancellingBeforeAnotherUser() throws {
        let (a, b) = try openOffline()
        let outcome = b.write([try .set("c/x", 1)])
        world.settle()
        let asked = Cancelled(b, outcome)
        b.client.setUser(UserID("alice"))
        world.settle()
        #expect(asked.wasCancelled == true)
        #expect(try a.client.pendingWrites().isEmpty)
    }

    @Test("Who asked for a write back gets an answer from the next primary")
    func cancellingAcrossPrimaries() throws {
        let (a, b) = try openOffline()
        let outcome = b.write([try .set("c/x", 1)])
        b.scheduler.drain()
        world.kill(a)
        let asked = Cancelled(b, outcome)
        b.scheduler.drain()
        #expect(asked.wasCancelled == nil)
        world.pass(.seconds(10))
        #expect(world.primaries == ["b"])
        #expect(asked.wasCancelled == true)
        #expect(outcome.failure?.kind == .cancelled)
    }
}
