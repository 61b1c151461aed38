import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Synchronization
import Testing

@testable import LarderRealtimeBackend

/// A backend is killed by opening another one with its storage.
@Suite("Stored operations of sessions")
struct StoredOperationsTests {
    private let storage = MemoryStorage()

    private func opened(
        _ configure: (inout RealtimeBackendConfiguration) -> Void = { _ in }
    ) throws -> TestBackend {
        let backend = try TestBackend(storage: storage, configure)
        backend.scheduler.drain()
        return backend
    }

    private func increment(_ path: String) -> RealtimeRequest {
        .onDisconnectPut(TreePath(path), Node(.deferred(.increment(LeafNumber(1)))))
    }

    @Test("they are stored before they are answered, and made once after a kill")
    func kill() throws {
        let backend = try opened()
        let client = backend.connect()
        _ = client.received()
        let values = try TestConnection.values([
            ("seen", #"{".sv":"timestamp"}"#), ("left/.priority", #""p""#),
        ])
        storage.state.withLock { $0.error = LarderError(.resourceExhausted, "full", domain: "x") }
        #expect(client.send(increment("n")) == ["closed resourceExhausted"])
        storage.state.withLock { $0.error = nil }
        // The operation was not acknowledged, and was made by the next connection.
        let second = backend.connect()
        _ = second.received()
        #expect(backend.tree.description == #"{"n":1}"#)
        #expect(second.send(increment("n")) == ["1 ok"])
        #expect(second.send(.onDisconnectMerge(TreePath("a"), values)) == ["2 ok"])
        #expect(storage.records.mapValues(\.count) == ["session/z-2": 2])

        let reopened = try opened()
        let expected = #"{"a":{"seen":1700000000000},"n":2}"#
        #expect(reopened.tree.description == expected && storage.records.isEmpty)
        #expect(
            storage.state.withLock { $0.commits.last }
                == "/a: {\"seen\":1700000000000}, /n: 2, z-2 replaced 0")
        #expect(try opened().tree.description == expected)
    }

    @Test("they precede everything that the next clients do")
    func order() throws {
        let backend = try opened()
        _ = backend.connect().send(increment("n"))
        let reopened = try TestBackend(storage: storage)
        reopened.backend.write(TreeWrite(TreePath("n"), Node(.integer(10))))
        let client = reopened.connect(lastSession: "z-1")
        #expect(client.received() == ["hello z-1"])
        #expect(reopened.tree.description == #"{"n":10}"#)
    }

    @Test("a clean end, a takeover and a cancellation remove them in the commit of their writes")
    func ends() throws {
        let backend = try opened()
        let (first, second) = (backend.connect(), backend.connect())
        _ = (first.send(increment("a")), second.send(increment("b")))
        first.close()
        _ = backend.connect(lastSession: "z-2")
        let third = backend.connect()
        _ = third.received()
        #expect(third.send(.onDisconnectCancel(TreePath("c"))) == ["1 ok"])
        _ = third.send(increment("c/d"))
        #expect(third.send(.onDisconnectCancel(TreePath("c"))) == ["3 ok"])
        #expect(
            storage.state.withLock { $0.commits } == [
                "z-1 1", "z-2 1", "/a: 1, z-1 replaced 0", "/b: 1, z-2 replaced 0", "z-4 1",
                "z-4 replaced 0",
            ])
        #expect(try opened().tree.description == #"{"a":1,"b":1}"#)
    }

    @Test("a storage that fails keeps them until they are made")
    func failure() throws {
        _ = try opened().connect().send(increment("n"))
        storage.state.withLock { $0.error = LarderError(.resourceExhausted, "full", domain: "x") }
        let backend = try opened()
        #expect(backend.tree.isEmpty && storage.records.count == 1)
        #expect(backend.connect().received() == ["closed resourceExhausted"])
        storage.state.withLock { $0.error = nil }
        #expect(backend.connect().received() == ["hello z-2"])
        #expect(backend.tree.description == #"{"n":1}"# && storage.records.isEmpty)
    }

    @Test("each is made as the user who has registered it, if the rules allow that by then")
    func users() throws {
        let seen = Box<[String]>([])
        func configure(_ configuration: inout RealtimeBackendConfiguration) {
            configuration.tokens = {
                $0 == "owner" ? .valid(.administrator) : .valid(.init(id: $0))
            }
            configuration.rules = { request in
                let user = request.user
                seen.withLock { $0.append("\(request.path) \(user?.id ?? "-")") }
                return user?.id == "banned" ? .deny : .allow
            }
        }
        let client = try opened(configure).connect()
        _ = client.send(increment("nobody"))
        for user in ["ada", "owner", "eve"] {
            _ = client.send(.authenticate(token: user))
            _ = client.send(increment(user))
            // Replaces that of another user.
            _ = client.send(increment("last"))
        }
        _ = client.send(.unauthenticate)
        seen.withLock { $0 = [] }
        let backend = try opened { configuration in
            configure(&configuration)
            let rules = configuration.rules
            configuration.rules = { $0.user?.id == "eve" ? .deny : rules($0) }
        }
        #expect(seen.withLock { $0 } == ["/nobody -", "/ada ada"])
        #expect(backend.tree.description == #"{"ada":1,"nobody":1,"owner":1}"#)
    }

    @Test("records stay few, however often a session registers")
    func compaction() throws {
        let client = try opened().connect()
        for number in 0..<500 {
            _ = client.send(
                .onDisconnectPut(TreePath("p\(number % 40)"), Node(.integer(Int64(number)))))
        }
        #expect(try #require(storage.records["session/z-1"]).count < 3 * 40 + 64)
        let expected = Node(
            children: (460..<500).map { Child(ChildKey("p\($0 % 40)"), Node(.integer(Int64($0)))) })
        #expect(try opened().tree == expected)
    }

    @Test("a record that cannot be read is an error")
    func damage() throws {
        for text in ["", "{}", #"{"user":null,"path":"a","values":1}"#] {
            let owner = RecordOwner(.session, "x")
            storage.state.withLock {
                $0.trees["default"] = StoredTree(records: [owner: [Array(text.utf8)]])
            }
            let error = #expect(throws: LarderError.self) { try TestBackend(storage: storage) }
            #expect(error?.kind == .dataLoss)
        }
    }
}
