import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderRuntime
import LarderSharedTestSupport
import Synchronization
import Testing

@testable import LarderRealtimeBackend

@Suite("Stored trees of the backend")
struct TreeStorageTests {
    private let storage = MemoryStorage()

    @Test("writes are stored before they are answered; those of one turn share a commit")
    func commits() throws {
        let backend = try TestBackend(storage: storage)
        let client = backend.connect()
        _ = client.received()
        backend.backend.write(TreeWrite(TreePath("a"), Node(.integer(1))))
        backend.backend.write(
            TreeWrite(TreePath("b"), try TestConnection.values([("x", "2"), ("y", "null")])))
        #expect(try client.put("c/t", #"{".sv":"timestamp"}"#) == ["1 ok"])
        #expect(try client.put("d", "4") == ["2 ok"])
        #expect(
            storage.state.withLock { $0.commits } == [
                "/a: 1, /b/x: 2, /b/y: null, /c/t: 1700000000000", "/d: 4",
            ])
        let reopened = try TestBackend(storage: storage)
        #expect(reopened.tree == backend.tree && reopened.tree.childCount == 4)
    }

    @Test("a commit that fails is not answered, and did not happen for anybody")
    func failure() throws {
        let backend = try TestBackend(storage: storage)
        try backend.set("a", "1")
        let (client, other) = (backend.connect(), backend.connect())
        _ = (client.received(), other.received(), other.listen("a"))
        _ = other.received()
        storage.state.withLock { $0.error = LarderError(.resourceExhausted, "full", domain: "x") }
        #expect(try client.put("a", "2") == ["closed resourceExhausted"])
        #expect(other.received() == ["closed resourceExhausted"])
        #expect(backend.tree.description == #"{"a":1}"#)
        let status = Box<ResponseStatus?>(nil)
        backend.perform { backend in
            backend.write(TreeWrite(TreePath("a"), Node(.integer(3)))) { response in
                status.withLock { $0 = response.status }
            }
        }
        #expect(status.withLock { $0 } == .unavailable)
        storage.state.withLock { $0.error = nil }
        let again = backend.connect()
        #expect(again.received() == ["hello z-3"])
        #expect(again.listen("a") == ["d /a 1", "1 ok"])
        #expect(try again.put("a", "5") == ["d /a 5", "2 ok"])
    }

    @Test("connections end, and their last writes are made, whatever the storage refuses")
    func failureTwice() throws {
        let backend = try TestBackend(storage: storage)
        let (client, other) = (backend.connect(), backend.connect())
        client.send(.onDisconnectPut(TreePath("gone"), Node(.deferred(.increment(LeafNumber(1))))))
        other.send(.onDisconnectPut(TreePath("away"), Node(.boolean(true))))
        _ = (client.received(), other.received())
        storage.state.withLock { $0.error = LarderError(.resourceExhausted, "full", domain: "x") }
        // The second turn fails while the ends of the first one are to be delivered.
        other.close()
        backend.backend.write(TreeWrite(TreePath("a"), Node(.integer(1))))
        backend.scheduler.drain()
        backend.perform { $0.write(TreeWrite(TreePath("a"), Node(.integer(2)))) }
        #expect(client.received() == ["closed resourceExhausted"])
        #expect(backend.tree.isEmpty)
        #expect(backend.connect().received() == ["closed resourceExhausted"])
        #expect(backend.tree.isEmpty)
        storage.state.withLock { $0.error = nil }
        #expect(backend.connect().received() == ["hello z-4"])
        #expect(backend.tree.description == #"{"away":true,"gone":1}"#)
        _ = backend.connect()
        #expect(backend.tree.description == #"{"away":true,"gone":1}"#)
    }

    @Test("closing stores what was left for the ends of connections, and refuses new ones")
    func closing() throws {
        let backend = try TestBackend(storage: storage)
        let client = backend.connect()
        _ = client.send(.onDisconnectPut(TreePath("gone"), Node(.boolean(true))))
        _ = client.received()
        let isClosed = Box(false)
        backend.perform { backend in
            backend.close { _ in isClosed.withLock { $0 = true } }
        }
        #expect(client.received() == ["closed unavailable"])
        #expect(storage.state.withLock { $0.isClosed } && isClosed.withLock { $0 })
        #expect(
            storage.state.withLock { $0.commits } == ["z-1 1", "/gone: true, z-1 replaced 0"])
        #expect(backend.connect().received() == ["closed unavailable"])
    }

    @Test("a tree on disk is what it was in memory, whatever was written in a turn")
    func disk() async throws {
        var random = SeededRandom()
        let directory = try TemporaryDirectory()
        var expected = Node.empty
        for _ in 0..<4 {
            let storage = try StoredTrees(directory: directory.file("backend"))
            let backend = try TestBackend(storage: storage)
            #expect(backend.tree == expected, "\(random)")
            for _ in 0..<60 {
                for _ in 0..<random.below(5) { write(&random, backend.backend) }
                backend.scheduler.drain()
            }
            expected = backend.tree
            await withCheckedContinuation { continuation in
                backend.perform { $0.close { _ in continuation.resume() } }
            }
        }
    }

    private func write(_ random: inout SeededRandom, _ backend: RealtimeBackend) {
        if random.oneIn(3) {
            let paths = Set((0..<random.below(4)).map { _ in random.key() })
            let values = paths.map { PathValue(TreePath([$0]), random.node(depth: 1)) }
            return backend.write(TreeWrite(random.path(maximumDepth: 2), values))
        }
        var write = TreeWrite(random.path(maximumDepth: 4), random.node(depth: 2))
        if random.oneIn(6) {
            write = TreeWrite(
                random.path(maximumDepth: 3).child(.priority), Node(random.priority()))
        }
        backend.write(write)
    }

    @Test("trees of 32 levels and of many children are stored, by namespace")
    func large() async throws {
        let directory = try TemporaryDirectory()
        let deep = Node.empty.setting(
            TreePath(String(repeating: "k/", count: 32)), to: Node(.boolean(true)))
        let wide = Node(
            children: (0..<5000).map { Child(ChildKey("key\($0)"), Node(.integer(Int64($0)))) })
        let backend = try RealtimeBackend(directory: directory.file("backend"))
        await withCheckedContinuation { continuation in
            backend.write(TreeWrite(.root, deep), in: "deep")
            backend.write(TreeWrite(TreePath("a"), wide), in: "wide") { _ in continuation.resume() }
        }
        try await backend.close()
        let reopened = try RealtimeBackend(directory: directory.file("backend"))
        #expect(reopened.tree(of: "deep") == deep)
        #expect(reopened.tree(of: "wide").child(ChildKey("a")) == wide)
        try await reopened.close()
    }
}
