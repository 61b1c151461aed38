import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeBackend

/// Clients register, cancel, write and end in a random order.
private struct PresenceScript {
    let backend: TestBackend
    var clients: [TestConnection] = []

    mutating func step(_ random: inout SeededRandom) {
        if clients.isEmpty || random.oneIn(8) {
            clients.append(backend.connect())
            return
        }
        let client = random.below(clients.count)
        if random.oneIn(12) { return clients.remove(at: client).close() }
        _ = clients[client].send(request(&random))
    }

    private func request(_ random: inout SeededRandom) -> RealtimeRequest {
        let path = random.path(maximumDepth: 3)
        switch random.below(8) {
        case 0: return .authenticate(token: "user\(random.below(2))")
        case 1: return .put(path, random.node(depth: 1), hash: nil)
        case 2: return .onDisconnectCancel(path)
        case 3:
            let keys = Set((0..<random.below(3)).map { _ in random.key() })
            return .onDisconnectMerge(
                path, keys.sorted().map { PathValue(TreePath([$0]), random.node(depth: 1)) })
        case 4: return .onDisconnectPut(path, Node(.deferred(.increment(LeafNumber(1)))))
        default: return .onDisconnectPut(path, random.node(depth: 2))
        }
    }
}

@Suite("Laws of stored operations")
struct StoredOperationsLawTests {
    @Test("a kill and a restart do what the loss of all connections does", arguments: 0..<10)
    func kill(seed: Int) async throws {
        var random = SeededRandom()
        let directory = try TemporaryDirectory()
        let memory = MemoryStorage()
        for round in 0..<3 {
            // Both are given the same requests.
            let before = random
            var killed = PresenceScript(backend: try TestBackend(storage: memory))
            for _ in 0..<60 { killed.step(&random) }
            let path = directory.file("\(seed)")
            let stored = try StoredTrees(directory: path)
            var dropped = PresenceScript(backend: try TestBackend(storage: stored))
            var same = before
            for _ in 0..<60 { dropped.step(&same) }
            #expect(killed.backend.tree == dropped.backend.tree, "\(random) \(round)")

            dropped.backend.perform { $0.dropConnections() }
            let reopened = try TestBackend(storage: memory)
            reopened.scheduler.drain()
            #expect(reopened.tree == dropped.backend.tree, "\(random) \(round)")
            #expect(memory.records.isEmpty)
            let backend = dropped.backend
            await withCheckedContinuation { continuation in
                backend.perform { $0.close { _ in continuation.resume() } }
            }
        }
    }

    @Test("what the disk has of sessions is what they have registered")
    func disk() async throws {
        var random = SeededRandom()
        let directory = try TemporaryDirectory()
        for _ in 0..<6 {
            let path = directory.file("store")
            let storage = try StoredTrees(directory: path)
            var script = PresenceScript(backend: try TestBackend(storage: storage))
            for _ in 0..<200 { script.step(&random) }
            let read = try #require(try storage.trees()["default"])
            let expected = try TestBackend(storage: FixedStorage(stored: read))
            expected.scheduler.drain()
            script.backend.perform { $0.dropConnections() }
            #expect(expected.tree == script.backend.tree, "\(random)")
            #expect(try storage.trees()["default"]?.records.isEmpty == true, "\(random)")
            let backend = script.backend
            await withCheckedContinuation { continuation in
                backend.perform { $0.close { _ in continuation.resume() } }
            }
        }
    }
}

/// A storage that forgets what it is given.
private struct FixedStorage: TreeStorage {
    let stored: StoredTree

    func trees() throws(LarderError) -> [String: StoredTree] { ["default": stored] }
    func commit(_ changes: TreeCommit, to namespace: String) throws(LarderError) {}
    func close(_ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void) {
        completion(.success(()))
    }
}
