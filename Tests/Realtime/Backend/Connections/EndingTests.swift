import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Synchronization
import Testing

@testable import LarderRealtimeBackend

/// Sessions whose operations take longer than a slice, by the manual clock.
@Suite("Operations of ended sessions")
struct EndingTests {
    private let storage = MemoryStorage()

    private func opened(
        isSlow: Box<Bool> = Box(true), _ time: Duration = .milliseconds(1)
    ) throws -> TestBackend {
        var clock: ManualClock?
        let backend = try TestBackend(storage: storage) { configuration in
            clock = (configuration.scheduler as? ManualScheduler<RealtimeBackend.Timer>)?.clock
            let clock = clock
            configuration.rules = { request in
                if isSlow.withLock({ $0 }), request.operation == .write {
                    clock?.advance(by: time)
                }
                return .allow
            }
        }
        return backend
    }

    private func increment(_ path: String) -> RealtimeRequest {
        .onDisconnectPut(TreePath(path), Node(.deferred(.increment(LeafNumber(1)))))
    }

    /// A client with operations for paths of a location.
    private func client(
        of backend: TestBackend, _ count: Int, isSlow: Box<Bool>
    ) -> TestConnection {
        isSlow.withLock { $0 = false }
        let client = backend.connect()
        for number in 0..<count { client.enqueue(increment("left/\(number)")) }
        isSlow.withLock { $0 = true }
        _ = client.received()
        return client
    }

    private func made(_ backend: TestBackend) -> Int {
        backend.tree.node(at: TreePath("left")).childCount
    }

    @Test("others are served between the slices in which they are made")
    func slices() throws {
        let isSlow = Box(false)
        let backend = try opened(isSlow: isSlow)
        let leaving = client(of: backend, 100, isSlow: isSlow)
        let other = backend.connect()
        _ = other.received()
        let seen = Box<[Int]>([])
        leaving.closeLater()
        for _ in 0..<3 {
            backend.backend.read(QuerySpec(TreePath("left")), as: nil) { result in
                if case .success(.content(let node)) = result {
                    seen.withLock { $0.append(node.childCount) }
                }
            }
        }
        backend.scheduler.drain()
        // Each read waits for one slice at most, not for all.
        let counts = seen.withLock { $0 }
        #expect(counts.count == 3 && counts.allSatisfy { $0 <= 30 })
        #expect(made(backend) == 100)
        #expect(storage.records.isEmpty)
    }

    @Test("a kill in between makes each of them once", arguments: [1, 2, 5])
    func kill(slices: Int) throws {
        let isSlow = Box(false)
        let backend = try opened(isSlow: isSlow)
        let leaving = client(of: backend, 100, isSlow: isSlow)
        leaving.closeLater()
        while storage.state.withLock({
            $0.trees["default"]?.tree.node(at: TreePath("left")).childCount ?? 0
        })
            < 10 * slices
        {
            #expect(backend.scheduler.runNext())
        }
        let stored = storage.state.withLock {
            $0.trees["default"]?.tree.node(at: TreePath("left")).childCount ?? 0
        }
        #expect(stored < 100)
        let reopened = try opened()
        reopened.scheduler.drain()
        #expect(
            reopened.tree.node(at: TreePath("left")).children.map(\.node)
                == Array(repeating: Node(.integer(1)), count: 100))
        #expect(storage.records.isEmpty)
    }

    @Test("a client that has ended its session is served when all of them are made")
    func takeover() throws {
        let isSlow = Box(false)
        let backend = try opened(isSlow: isSlow)
        let leaving = client(of: backend, 100, isSlow: isSlow)
        let events = Box<[String]>([])
        let server = backend.backend
        let connection = server.remote().connect(
            ConnectRequest(lastSessionID: "z-1")
        ) { event in
            let count = server.tree().node(at: TreePath("left")).childCount
            events.withLock { $0.append("\(event.text) at \(count)") }
        }
        connection.send(.put(TreePath("left/50"), Node(.string("new")), hash: nil), number: 1)
        backend.scheduler.drain()
        #expect(events.withLock { $0 } == ["hello z-2 at 100", "1 ok at 100"])
        #expect(leaving.received() == ["closed"])
        // The put came last.
        #expect(backend.tree.node(at: TreePath("left/50")) == Node(.string("new")))
        #expect(backend.tree.node(at: TreePath("left/51")) == Node(.integer(1)))
    }

    @Test("a storage that fails in between keeps those that were not made")
    func failure() throws {
        let isSlow = Box(false)
        let backend = try opened(isSlow: isSlow)
        let leaving = client(of: backend, 100, isSlow: isSlow)
        leaving.closeLater()
        for _ in 0..<4 { #expect(backend.scheduler.runNext()) }
        storage.state.withLock { $0.error = LarderError(.resourceExhausted, "full", domain: "x") }
        backend.scheduler.drain()
        let count = made(backend)
        #expect((1..<100).contains(count))
        storage.state.withLock { $0.error = nil }
        _ = backend.connect()
        #expect(
            backend.tree.node(at: TreePath("left")).children.map(\.node)
                == Array(repeating: Node(.integer(1)), count: 100))
    }

    @Test("a closing backend makes as many as there is time for, and the next one the others")
    func closing() throws {
        let isSlow = Box(false)
        let backend = try opened(isSlow: isSlow, .milliseconds(20))
        _ = client(of: backend, 300, isSlow: isSlow)
        let isClosed = Box(false)
        backend.backend.close { _ in isClosed.withLock { $0 = true } }
        let start = backend.scheduler.uptime
        backend.scheduler.drain()
        #expect(isClosed.withLock { $0 })
        #expect(backend.scheduler.uptime - start < .seconds(5))
        #expect((100..<300).contains(made(backend)))
        let reopened = try opened()
        reopened.scheduler.drain()
        #expect(made(reopened) == 300)
    }

    @Test("a session that registers more than the limits allow is refused")
    func limits() throws {
        let client = try opened(isSlow: Box(false)).connect()
        _ = client.received()
        let large = Node(.string(String(repeating: "x", count: 10 << 20)))
        for number in 1...3 {
            #expect(
                client.send(.onDisconnectPut(TreePath("a\(number)"), large)) == ["\(number) ok"])
        }
        #expect(client.send(.onDisconnectPut(TreePath("b"), large))[0].hasPrefix("4 failed"))
        // What replaces others does not count twice.
        #expect(client.send(.onDisconnectPut(TreePath("a1"), Node(.integer(1)))) == ["5 ok"])
        #expect(client.send(.onDisconnectPut(TreePath("b"), large)) == ["6 ok"])
    }

    @Test("many of them are registered in linear time, and measured when some are cancelled")
    func linear() {
        var operations = SessionOperations()
        for number in 0..<20_000 {
            let write = TreeWrite(TreePath("p/\(number)"), Node(.integer(1)))
            operations.apply(SessionOperation(change: .write(write), user: nil))
        }
        #expect(operations.size.count == 20_000 && operations.writes.count == 20_000)
        operations.apply(SessionOperation(change: .cancel(TreePath("p")), user: nil))
        #expect(operations.isEmpty && operations.size.count == 0)
    }
}
