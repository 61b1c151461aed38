import Foundation
import LarderCore
import LarderRealtime
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderSharedTestSupport
import Synchronization
import Testing

/// A remote that counts what a server sends of data.
private final class CountingRemote: RealtimeRemote {
    private let base: any RealtimeRemote
    private let counts = Mutex<[String: Int]>([:])

    init(_ base: any RealtimeRemote) {
        self.base = base
    }

    /// How many overwrites, merges and range merges have come since the last call.
    func read() -> [String: Int] {
        counts.withLock { counts in
            defer { counts = [:] }
            return counts
        }
    }

    func connect(
        _ request: ConnectRequest, _ handler: @escaping @Sendable (ConnectionEvent) -> Void
    ) -> any RealtimeConnection {
        base.connect(request) { [self] event in
            if case .push(let push) = event {
                let kind =
                    switch push {
                    case .overwrite: "overwrite"
                    case .merge: "merge"
                    case .rangeMerge: "range merge"
                    default: "other"
                    }
                counts.withLock { $0[kind, default: 0] += 1 }
            }
            handler(event)
        }
    }
}

@Suite("What a cache saves")
struct CacheBehaviourTests {
    /// A client that has cached a list of more than a kilobyte, and was closed.
    private func cached(
        _ query: (DatabaseReference) -> DatabaseQuery
    ) throws -> (DatabaseWorld, CountingRemote) {
        let world = DatabaseWorld(.disk)
        let list = (100..<200).map { JSONMember("item\($0)", .string("content of item \($0)")) }
        try world.put("list", .object(list))
        let remote = CountingRemote(world.backend.remote())
        let client = try self.client(world, remote)
        client.observe(query(client.database.reference(withPath: "list")), [.value])
        #expect(world.read(client).count == 1)
        #expect(remote.read() == ["overwrite": 1])
        world.close(client)
        return (world, remote)
    }

    private func client(
        _ world: DatabaseWorld, _ remote: CountingRemote
    ) throws -> DatabaseUnderTest {
        try world.client(named: "phone") { $0.backend = RealtimeRemoteConnection(remote) }
    }

    @Test("Unchanged data is not sent again after a restart")
    func unchanged() throws {
        let (world, remote) = try cached { $0 }
        let client = try client(world, remote)
        client.observe(client.database.reference(withPath: "list"), [.value])
        #expect(world.read(client).count == 1)
        #expect(remote.read().isEmpty)
    }

    @Test("One new child of a long list costs one range merge, also through an order")
    func rangeMerge() throws {
        for query: (DatabaseReference) -> DatabaseQuery in [
            { $0 }, { $0.queryOrdered(byChild: "x") },
        ] {
            let (world, remote) = try cached(query)
            try world.put("list/item150b", .string("new"))
            let client = try client(world, remote)
            client.observe(query(client.database.reference(withPath: "list")), [.childAdded])
            let lines = world.read(client)
            #expect(lines.count == 101 && lines.last?.contains("item150b") == true)
            #expect(remote.read() == ["range merge": 1])
        }
    }

    @Test("A limited query is complete offline although the location is not")
    func limitedQuery() throws {
        let (world, remote) = try cached { $0.queryLimited(toLast: 2) }
        let client = try world.client(named: "phone") {
            $0.backend = RealtimeRemoteConnection(remote)
            $0.startsOffline = true
        }
        let list = client.database.reference(withPath: "list")
        client.observe(list.queryLimited(toLast: 2), as: "two", [.value])
        client.observe(list, as: "all", [.value, .childAdded])
        let lines = world.read(client)
        #expect(lines.filter { $0.hasPrefix("two value") }.count == 1)
        #expect(lines.filter { $0.hasPrefix("all childAdded") }.count == 2)
        #expect(!lines.contains { $0.hasPrefix("all value") })
    }

    @Test("Queries are kept in sync one by one; children of a kept location are covered")
    func keptQueries() throws {
        let world = DatabaseWorld(.disk)
        try world.put("a", .object((1...4).map { JSONMember("k\($0)", .integer(Int64($0))) }))
        let client = try world.client()
        let place = client.database.reference(withPath: "a")
        place.queryLimited(toFirst: 1).keepSynced(true)
        place.queryLimited(toFirst: 2).keepSynced(true)
        place.queryLimited(toFirst: 2).keepSynced(false)
        world.drain()
        try world.put("a/k0", .integer(0))
        client.database.goOffline()
        world.drain()
        client.observe(place.queryLimited(toFirst: 1), as: "one", [.value])
        #expect(world.read(client) == [#"one value {"k0":0}"#])
        client.database.goOnline()
        place.root.keepSynced(true)
        place.root.keepSynced(true)
        world.drain()
        place.removeAllObservers()
        try world.put("a/k5", .integer(5))
        client.database.goOffline()
        world.drain()
        client.observe(place.child("k5"), as: "child", [.value])
        #expect(world.read(client) == ["child value 5"])
    }

    @Test("keepSynced survives the removal of observers, and a refused listen can be kept again")
    func keptAgain() throws {
        let world = DatabaseWorld(.disk)
        try world.put("a", .integer(1))
        world.backend.setRules { $0.operation == .read ? .deny : .allow }
        let client = try world.client()
        let place = client.database.reference(withPath: "a")
        place.keepSynced(true)
        world.drain()
        world.backend.setRules { _ in .allow }
        place.keepSynced(true)
        let handles = client.observe(place, [.value])
        #expect(world.read(client) == ["value 1"])
        place.removeObserver(withHandle: handles[0])
        place.removeAllObservers()
        world.drain()
        try world.put("a", .integer(2))
        client.database.goOffline()
        world.drain()
        client.observe(place, [.value])
        #expect(world.read(client) == ["value 2"])
    }

    @Test("A small cache keeps what is observed, and evicts the rest")
    func smallCache() async throws {
        let world = DatabaseWorld(.disk)
        let client = try world.client { $0.cacheSize = .bytes(1 << 20) }
        // Text that does not compress.
        var random = SeededRandom(seed: 1)
        for room in 0..<40 {
            let messages = (0..<100).map { number in
                let text = (0..<40).map { _ in String(random.next(), radix: 36) }.joined()
                return JSONMember("m\(number)", .string(text))
            }
            try world.put("rooms/\(room)", .object(messages))
        }
        let rooms = client.database.reference(withPath: "rooms")
        client.observe(rooms.child("0"), [.value])
        for room in 1..<40 {
            let handle = client.observe(rooms.child("\(room)"), [.value])[0]
            world.drain()
            rooms.child("\(room)").removeObserver(withHandle: handle)
        }
        _ = world.read(client)
        let usage = await client.wait { try? await $0.usage() }
        #expect(usage.map { $0.totalBytes <= 1 << 20 } == true)
        #expect(usage.map { $0.trackedQueryCount < 40 } == true)
        client.database.goOffline()
        world.drain()
        client.observe(rooms.child("1"), as: "evicted", [.value])
        client.observe(rooms.child("0"), as: "kept", [.value])
        let lines = world.read(client)
        #expect(lines.count == 1 && lines[0].hasPrefix("kept value"))
    }

    @Test("A pin keeps data without an observer")
    func pins() async throws {
        let world = DatabaseWorld(.disk)
        try world.put("a", .integer(1))
        try world.put("b", .integer(2))
        let client = try world.client()
        let (a, b) = (
            client.database.reference(withPath: "a"), client.database.reference(withPath: "b")
        )
        client.observe(a, [.value])
        client.observe(b, [.value])
        _ = world.read(client)
        let pin = a.pin()
        a.removeAllObservers()
        b.removeAllObservers()
        client.database.goOffline()
        world.drain()
        let report = await client.wait { try? await $0.evict() }
        #expect(report?.evictedQueryCount == 1)
        client.observe(a, as: "a", [.value])
        client.observe(b, as: "b", [.value])
        #expect(client.read() == ["a value 1"])
        a.removeAllObservers()
        pin.remove()
        pin.remove()
        client.drain()
        #expect(await client.wait { try? await $0.evict() }?.evictedQueryCount == 1)
    }
}
