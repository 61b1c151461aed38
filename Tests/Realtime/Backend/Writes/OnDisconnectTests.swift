import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("Writes at the end of connections")
struct OnDisconnectTests {
    private let backend = TestBackend()

    private func prepared() throws -> TestConnection {
        let client = backend.connect()
        _ = client.received()
        _ = client.send(.onDisconnectPut(TreePath("status"), try Node(parsing: #""off""#)))
        let values = try TestConnection.values([
            ("seen", #"{".sv":"timestamp"}"#), ("count", #"{".sv":{"increment":1}}"#),
        ])
        #expect(client.send(.onDisconnectMerge(TreePath("info"), values)) == ["2 ok"])
        #expect(backend.tree == .empty)
        return client
    }

    private let written = #"{"info":{"count":1,"seen":1700000002000},"status":"off"}"#

    @Test("they are made when the client closes the connection, or releases it")
    func closing() throws {
        backend.scheduler.clock.advance(by: .seconds(2))
        try prepared().close()
        #expect(backend.tree.description == written)
        try backend.set("", "null")
        try prepared().drop()
        #expect(backend.tree.description == written)
    }

    @Test("they are made when the connection breaks, and seen by others")
    func breaking() throws {
        let client = try prepared()
        let other = backend.connect()
        _ = (other.received(), other.listen("status"))
        backend.perform { $0.dropConnections() }
        #expect(client.received() == ["closed"])
        #expect(other.received() == ["closed"])
        #expect(backend.tree.node(at: TreePath("status")) == Node(.string("off")))
        let watching = backend.connect()
        _ = (watching.received(), watching.listen("status"))
        try backend.set("", "null")
        try prepared().close()
        #expect(watching.received() == ["d /status null", #"d /status "off""#])
    }

    @Test("a new connection of the client ends the old session first")
    func takeover() throws {
        let old = try prepared()
        let client = backend.connect(lastSession: "z-1")
        #expect(client.received() == ["hello z-2"])
        #expect(old.received() == ["closed"])
        #expect(backend.tree.node(at: TreePath("status")) == Node(.string("off")))
        try backend.set("status", #""on""#)
        old.close()
        #expect(backend.tree.node(at: TreePath("status")) == Node(.string("on")))
        #expect(backend.connect(lastSession: "unknown").received() == ["hello z-3"])
    }

    @Test("they are made once, and cancelled ones are not")
    func cancelling() throws {
        let client = try prepared()
        #expect(client.send(.onDisconnectCancel(TreePath("info"))) == ["3 ok"])
        client.close()
        #expect(backend.tree.description == #"{"status":"off"}"#)
        try backend.set("", "null")
        client.close()
        #expect(backend.tree == .empty)
    }

    @Test("the rules are asked when they are registered and again when they are made")
    func rules() throws {
        let client = try prepared()
        backend.perform { backend in
            backend.setRules { $0.operation == .write && $0.path == "/status" ? .deny : .allow }
        }
        #expect(
            client.send(.onDisconnectPut(TreePath("status"), Node(.boolean(true))))
                == ["3 permission_denied"])
        client.close()
        #expect(
            backend.tree.description == #"{"info":{"count":1,"seen":1700000000000}}"#)
    }
}
