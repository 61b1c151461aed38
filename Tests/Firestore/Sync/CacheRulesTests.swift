import LarderBackend
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@Suite("Cache rules of a client")
struct CacheRulesTests {
    private let scheduler = ManualScheduler()
    private let folder: TemporaryDirectory
    private let backend: Backend

    init() throws {
        folder = try TemporaryDirectory()
        backend = try .manual(scheduler)
    }

    private func client(_ rules: [CacheRule]?) throws -> Client {
        var configuration = ClientConfiguration.manual(
            scheduler, in: folder, remote: backend)
        configuration.cacheRules = rules
        let scheduler = scheduler
        configuration.clock = { scheduler.clock.timestamp }
        let client = try Client(configuration)
        scheduler.drain()
        return client
    }

    private func end(_ client: Client) {
        client.terminate { _ in }
        scheduler.drain()
    }

    private func advance(by duration: Duration) {
        scheduler.clock.advance(by: duration)
        scheduler.fireDue()
        scheduler.drain()
    }

    /// Writes documents at the backend.
    private func put(_ paths: String..., text: String = "text") throws {
        for path in paths {
            backend.commit(
                [Mutation(.set(try Record(["text": .string(text)])), at: try DocumentPath(path))],
                as: Credentials()
            ) { _ in }
        }
        scheduler.drain()
    }

    private func query(_ collection: String) throws -> Query {
        Query(.collection(try CollectionPath(collection)))
    }

    private func listen(_ client: Client, _ collection: String) throws -> ClientRegistration {
        let registration = client.listen(to: try query(collection), options: ListenOptions()) {
            _ in
        }
        scheduler.drain()
        return registration
    }

    /// Caches the documents of a collection, and stops listening.
    private func fetch(_ client: Client, _ collection: String) throws {
        let registration = try listen(client, collection)
        registration.remove()
        scheduler.drain()
    }

    private func cached(_ client: Client, _ collection: String) throws -> [String] {
        try client.run(try query(collection)).documents.map(\.path.id)
    }

    private func set(_ client: Client, _ rules: [CacheRule]) throws {
        let outcome = Mutex<Result<Void, LarderError>?>(nil)
        client.setCacheRules(rules) { result in outcome.withLock { $0 = result } }
        scheduler.drain()
        try #require(outcome.withLock { $0 }).get()
    }

    // MARK: Pinned and never cached

    @Test("a pinned collection outlasts garbage collection, others do not")
    func pinned() throws {
        let client = try client([CacheRule(.collection("menus"), isPinned: true)])
        try put("menus/a", "menus/a/menus/b", "orders/a")
        for collection in ["menus", "menus/a/menus", "orders"] { try fetch(client, collection) }
        client.collectGarbage(threshold: 0) { _ in }
        scheduler.drain()
        #expect(try cached(client, "menus") == ["a"])
        #expect(try cached(client, "menus/a/menus").isEmpty, "only the exact path is pinned")
        #expect(try cached(client, "orders").isEmpty)
        end(client)
    }

    @Test("a document never cached stays while a listener shows it, and goes with the listener")
    func neverCached() throws {
        let client = try client([CacheRule(.collectionGroup("tokens"), isNeverCached: true)])
        try put("users/a/tokens/1", "users/a/tokens/2", "cities/a")
        let registration = try listen(client, "users/a/tokens")
        #expect(try cached(client, "users/a/tokens") == ["1", "2"])
        try put("users/a/tokens/3")
        #expect(try cached(client, "users/a/tokens") == ["1", "2", "3"])
        try fetch(client, "cities")
        registration.remove()
        scheduler.drain()
        #expect(try cached(client, "users/a/tokens").isEmpty)
        #expect(try cached(client, "cities") == ["a"])
        try fetch(client, "users/a/tokens")
        #expect(try cached(client, "users/a/tokens").isEmpty)
        end(client)
    }

    @Test("a pending write keeps a document never cached until it is acknowledged")
    func pendingWrite() throws {
        let client = try client([CacheRule(.collection("tokens"), isNeverCached: true)])
        client.disableNetwork { _ in }
        scheduler.drain()
        let path = try DocumentPath("tokens/a")
        client.write(
            [Mutation(.set(try Record(["n": 1])), at: path)], committed: { _ in },
            acknowledged: { _ in })
        scheduler.drain()
        #expect(try client.document(at: path)?.exists == true)
        client.enableNetwork { _ in }
        advance(by: .seconds(1))
        #expect(try client.pendingWrites().isEmpty)
        #expect(try backend.document(at: path)?.exists == true)
        #expect(try client.document(at: path) == nil)
        end(client)
    }

    @Test("a collection is kept within its size, and no listener loses a document")
    func size() throws {
        let rule = CacheRule(.collection("logs"), maximumBytes: 20_000)
        let client = try client([rule])
        var random = SeededRandom(seed: 7)
        for number in 0..<100 {
            let id = String(100 + number)
            let letters = (0..<600).map { _ in
                Character(UnicodeScalar(UInt8.random(in: 48...122, using: &random)))
            }
            try put("logs/\(id)", text: String(letters))
            let path = try DocumentPath("logs/\(id)")
            let registration = client.listen(to: Query(.document(path)), options: ListenOptions()) {
                _ in
            }
            scheduler.drain()
            #expect(try client.document(at: path)?.exists == true)
            registration.remove()
            scheduler.drain()
            let usage = try #require(try client.cacheRules().first)
            #expect(usage.rule == rule)
            #expect(usage.sizeBytes <= 20_000)
            #expect(number < 20 || usage.documentCount >= 5, "\(usage)")
        }
        let all = try listen(client, "logs")
        #expect(try cached(client, "logs").count == 100)
        all.remove()
        scheduler.drain()
        let usage = try #require(try client.cacheRules().first)
        #expect(usage.sizeBytes <= 20_000 && usage.documentCount < 40)
        end(client)
    }

    @Test("a document goes when it was not used for the maximum age, without any commit")
    func age() throws {
        let client = try client([CacheRule(.collection("news"), maximumAge: .seconds(1_600))])
        try put("news/read", "news/unread", "other/a")
        try fetch(client, "news")
        try fetch(client, "other")
        advance(by: .seconds(1_590))
        #expect(try cached(client, "news") == ["read", "unread"])
        end(client)
        // The age goes on while the store is closed.
        scheduler.clock.advance(by: .seconds(300))
        let second = try self.client(nil)
        #expect(try cached(second, "news").isEmpty)
        #expect(try cached(second, "other") == ["a"])
        try fetch(second, "news")
        advance(by: .seconds(900))
        // The target was used when the listener ended: only documents outside of it are single.
        #expect(try cached(second, "news") == ["read", "unread"])
        for _ in 0..<10 { advance(by: .seconds(100)) }
        #expect(try cached(second, "news").isEmpty)
        #expect(try cached(second, "other") == ["a"])
        end(second)
    }

    @Test("a read by reference is a use")
    func readIsAUse() throws {
        let client = try client([CacheRule(.collection("news"), maximumAge: .seconds(1_600))])
        try put("news/a", "news/b")
        for id in ["a", "b"] {
            let path = try DocumentPath("news/\(id)")
            let registration = client.listen(to: Query(.document(path)), options: ListenOptions()) {
                _ in
            }
            scheduler.drain()
            registration.remove()
            scheduler.drain()
        }
        for _ in 0..<40 {
            advance(by: .seconds(100))
            _ = try client.document(at: try DocumentPath("news/a"))
        }
        #expect(try cached(client, "news") == ["a"])
        end(client)
    }

    // MARK: Changes

    @Test("rules changed at run time hold at once and after a restart, until others are given")
    func changes() throws {
        let first = try client(nil)
        #expect(try first.cacheRules().isEmpty)
        try put("a/1", "b/1")
        try fetch(first, "a")
        try fetch(first, "b")
        let rules = [
            CacheRule(.collection("a"), isNeverCached: true),
            CacheRule(.collection("b"), isPinned: true),
        ]
        try set(first, rules)
        #expect(try cached(first, "a").isEmpty)
        #expect(try cached(first, "b") == ["1"])
        end(first)
        let second = try client(nil)
        #expect(try second.cacheRules().map(\.rule) == rules)
        #expect(try second.cacheRules().map(\.documentCount) == [0, 1])
        try fetch(second, "a")
        #expect(try cached(second, "a").isEmpty)
        end(second)
        let third = try client([])
        #expect(try third.cacheRules().isEmpty)
        try fetch(third, "a")
        #expect(try cached(third, "a") == ["1"])
        end(third)
    }

    @Test("the rule of a path overrides that of its group")
    func specific() throws {
        let client = try client([
            CacheRule(.collectionGroup("messages"), isNeverCached: true),
            CacheRule(.collection("rooms/1/messages")),
        ])
        try put("rooms/1/messages/a", "rooms/2/messages/a")
        try fetch(client, "rooms/1/messages")
        try fetch(client, "rooms/2/messages")
        #expect(try cached(client, "rooms/1/messages") == ["a"])
        #expect(try cached(client, "rooms/2/messages").isEmpty)
        end(client)
    }

    @Test(
        "rules that contradict themselves or each other are refused, and nothing changes",
        arguments: [
            [CacheRule(.collection("a"), isPinned: true, isNeverCached: true)],
            [CacheRule(.collection("a"), isPinned: true, maximumBytes: 1)],
            [CacheRule(.collection("a"), isNeverCached: true, maximumAge: .seconds(9))],
            [CacheRule(.collection("a"), maximumBytes: 0)],
            [CacheRule(.collection("a"), maximumAge: .milliseconds(999))],
            [CacheRule(.collection("a"), maximumAge: .seconds(Int64.max / 4))],
            [CacheRule(.collection("a/b"))],
            [CacheRule(.collection(""))],
            [CacheRule(.collectionGroup("a/b/c"))],
            [CacheRule(.collection("a")), CacheRule(.collection("/a/"))],
            Array(repeating: 0, count: 257).indices.map { CacheRule(.collection("a\($0)")) },
        ])
    func invalid(_ rules: [CacheRule]) throws {
        let kept = [CacheRule(.collection("kept"), isPinned: true)]
        let client = try client(kept)
        let error = #expect(throws: LarderError.self) { try set(client, rules) }
        #expect(error?.kind == .invalidArgument)
        #expect(try client.cacheRules().map(\.rule) == kept)
        end(client)
        let opening = #expect(throws: LarderError.self) { try self.client(rules) }
        #expect(opening?.kind == .invalidArgument)
    }
}
