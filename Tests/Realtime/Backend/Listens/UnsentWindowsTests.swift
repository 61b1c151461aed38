import LarderCore
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderRuntime
import LarderSharedTestSupport
import Testing

/// Writes that take longer than a slice, by the manual clock: their windows are sent in the turns of
/// the sessions that listen.
@Suite("Windows that are sent later")
struct UnsentWindowsTests {
    private let isSlow = Box(false)
    private let backend: TestBackend

    init() throws {
        let isSlow = isSlow
        backend = TestBackend { configuration in
            let scheduler = configuration.scheduler as? ManualScheduler<RealtimeBackend.Timer>
            let clock = scheduler?.clock
            configuration.rules = { request in
                if isSlow.withLock({ $0 }), request.operation == .write {
                    clock?.advance(by: .milliseconds(11))
                }
                return .allow
            }
        }
        try backend.set("scores", #"{"a":1,"b":2,"c":3}"#)
    }

    /// A client that listens to the two smallest and the largest score, and to all of another place.
    private func listener() throws -> TestConnection {
        let client = backend.connect()
        _ = try client.listen("scores", tag: 1) { try $0.ordered(by: .value).limited(toFirst: 2) }
        _ = try client.listen("scores", tag: 2) { try $0.ordered(by: .value).limited(toLast: 1) }
        _ = client.listen("scores/c")
        _ = client.received()
        return client
    }

    private func write(_ path: String, _ text: String, as user: TestConnection) throws {
        user.sendLater(.put(TreePath(path), try Node(parsing: text), hash: nil))
    }

    @Test("a write that takes long sends its windows as they are then, and its answer after them")
    func own() throws {
        let client = try listener()
        isSlow.withLock { $0 = true }
        #expect(
            try client.put("scores/c", "0") == [
                "d /scores/c 0", #"d /scores {"a":1,"c":0} #1"#, #"d /scores {"b":2} #2"#, "4 ok",
            ])
        isSlow.withLock { $0 = false }
        #expect(
            try client.put("scores/c", "9") == [
                "m /scores {c: null, b: 2} #1", "m /scores {b: null, c: 9} #2", "d /scores/c 9",
                "5 ok",
            ])
    }

    @Test("a window that changes several times before the session's turn is sent once")
    func several() throws {
        let client = try listener()
        isSlow.withLock { $0 = true }
        for score in 4...6 { try write("scores/a", "\(score)", as: client) }
        backend.scheduler.drain()
        #expect(
            client.received() == [
                #"d /scores {"b":2,"c":3} #1"#, #"d /scores {"a":6} #2"#, "4 ok", "5 ok", "6 ok",
            ])
    }

    @Test("a listen that ends before its turn receives nothing, nor does a client that has left")
    func ends() throws {
        let (client, other) = (try listener(), backend.connect())
        _ = other.received()
        isSlow.withLock { $0 = true }
        try write("scores/c", "0", as: other)
        let query = QuerySpec(
            TreePath("scores"), try QueryBuilder().ordered(by: .value).limited(toLast: 1).parameters
        )
        client.sendLater(.unlisten(query, tag: 2))
        backend.scheduler.drain()
        let received = client.received()
        #expect(received.filter { $0.hasSuffix("t2") }.isEmpty, "\(received)")
        #expect(received.contains(#"d /scores {"a":1,"c":0} #1"#), "\(received)")
        try write("scores/c", "5", as: other)
        client.closeLater()
        backend.scheduler.drain()
        #expect(client.received().isEmpty)
        #expect(try other.put("scores/c", "6") == ["1 ok", "2 ok", "3 ok"])
    }
}
