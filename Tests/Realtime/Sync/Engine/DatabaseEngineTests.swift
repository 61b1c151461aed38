import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("The engine and its connection")
struct DatabaseEngineTests {
    @Test("A write is shown at once, sent in order, and acknowledged after its events")
    func writes() throws {
        let engine = try EngineUnderTest()
        engine.listen("a", as: "a")
        engine.write(.overwrite(TreePath("a"), Node(.integer(1))), as: "w1")
        #expect(engine.read() == ["a: value 1", "w1 made"])
        try engine.connect()
        #expect(try engine.connection.readText() == ["1 listen /a", "2 put /a 1"])
        try engine.connection.answer(2)
        #expect(engine.read().isEmpty, "withheld until the listen is answered")
        try engine.connection.push(.overwrite(TreePath("a"), Node(.integer(1)), tag: nil))
        try engine.connection.answer(1)
        #expect(engine.read() == ["w1 acknowledged"])
    }

    @Test("A refused write is reverted")
    func refusal() throws {
        let engine = try EngineUnderTest()
        try engine.connect()
        engine.listen("a", as: "a")
        try engine.connection.push(.overwrite(TreePath("a"), Node(.string("old")), tag: nil))
        try engine.connection.answer(1)
        _ = engine.read()
        engine.write(.overwrite(TreePath("a"), Node(.string("new"))), as: "w")
        #expect(engine.read() == ["a: value \"new\"", "w made"])
        try engine.connection.answer(2, .permissionDenied, reason: "Permission denied")
        #expect(engine.read() == ["a: value \"old\"", "w failed: permissionDenied"])
    }

    @Test("After a lost connection listens come first, then everything unanswered in order")
    func reconnection() throws {
        let engine = try EngineUnderTest()
        try engine.connect()
        engine.listen("a")
        engine.arm(.put(TreePath("status"), Node(.string("offline"))), as: "armed")
        engine.write(.overwrite(TreePath("status"), Node(.string("online"))), as: "w")
        let first = try engine.connection
        #expect(
            first.readText() == [
                "1 listen /a", "2 onDisconnect put /status \"offline\"", "3 put /status \"online\"",
            ])
        first.raise(.closed(nil))
        engine.scheduler.drain()
        #expect(first.isClosed)
        engine.advance(by: .seconds(1))
        try engine.connection.open(session: "s2")
        engine.scheduler.drain()
        #expect(try engine.connection.request.lastSessionID == "s1")
        #expect(
            try engine.connection.readText() == [
                "4 listen /a", "5 onDisconnect put /status \"offline\"",
                "6 put /status \"online\"",
            ])
    }

    @Test("Data of an ended listen does not reach a query whose listen was sent without it")
    func lateData() throws {
        let engine = try EngineUnderTest()
        try engine.connect()
        let id = engine.listen("a", as: "all")
        engine.client.removeListener(id, from: QuerySpec(TreePath("a")))
        engine.scheduler.drain()
        let parameters = try QueryBuilder().limited(toFirst: 2).parameters
        engine.listen(QuerySpec(TreePath("a"), parameters), as: "first", [.value])
        #expect(
            try engine.connection.readText() == [
                "1 listen /a", "2 unlisten /a", "3 listen /a tag 1",
            ])
        try engine.connection.push(.overwrite(TreePath("a/x"), Node(.integer(1)), tag: nil))
        // Then the server's data was removed, and is what the hash of the listen says.
        try engine.connection.answer(3)
        #expect(engine.read() == ["first: value null"])
    }

    @Test("A listen whose hash a get has made old is not confirmed by it")
    func disturbedListen() throws {
        let engine = try EngineUnderTest()
        try engine.connect()
        engine.get(QuerySpec(TreePath("a")))
        engine.listen("a", as: "a")
        #expect(try engine.connection.readText() == ["1 get /a", "2 listen /a"])
        try engine.connection.answer(1, payload: .node(Node(.integer(1))))
        #expect(engine.read() == ["a: value 1", "get: 1"])
        // Then the server's data was removed, and is what the hash of the listen says.
        try engine.connection.answer(2)
        engine.scheduler.drain()
        #expect(try engine.connection.readText() == ["3 unlisten /a"])
        try engine.connection.answer(3)
        engine.scheduler.drain()
        #expect(try engine.connection.readText() == ["4 listen /a with hash"])
        try engine.connection.push(.overwrite(TreePath("a"), .empty, tag: nil))
        try engine.connection.answer(4)
        #expect(engine.read() == ["a: value null"])
    }

    @Test(".info tells of the connection, the user and the server's clock")
    func info() throws {
        let engine = try EngineUnderTest(usesTokens: true)
        engine.listen(".info/connected", as: "connected")
        engine.listen(".info/serverTimeOffset", as: "offset")
        engine.listen(".info/authenticated", as: "authenticated")
        #expect(engine.read() == ["connected: value false", "authenticated: value false"])
        try engine.tokens.answer(.success("t"))
        engine.scheduler.drain()
        try engine.connection.open(at: 1_700_000_005_000)
        #expect(engine.read() == ["offset: value 5000"])
        #expect(try engine.connection.readText() == ["1 auth t"])
        engine.scheduler.clock.advance(by: .milliseconds(200))
        try engine.connection.answer(1)
        #expect(
            engine.read() == [
                "offset: value 5100", "authenticated: value true", "connected: value true",
            ])
        engine.client.goOffline()
        #expect(engine.read() == ["authenticated: value false", "connected: value false"])
        engine.client.goOnline()
        engine.scheduler.drain()
        #expect(engine.tokens.isAsked)
    }

    @Test("Writes wait for a new token, and nothing is reverted")
    func expiredToken() throws {
        let engine = try EngineUnderTest(usesTokens: true)
        engine.write(.overwrite(TreePath("a"), Node(.integer(1))), as: "w")
        engine.listen("a", as: "a")
        #expect(engine.read() == ["w made", "a: value 1"])
        try engine.tokens.answer(.success("old"))
        engine.scheduler.drain()
        try engine.connect()
        #expect(try engine.connection.readText() == ["1 auth old"])
        try engine.connection.answer(1, .expiredToken, reason: "Auth token is expired")
        engine.scheduler.drain()
        #expect(try engine.connection.isClosed)
        engine.advance(by: .seconds(2))
        #expect(try engine.tokens.answer(.success("new")), "a new one is asked for")
        engine.scheduler.drain()
        try engine.connect(session: "s2")
        #expect(try engine.connection.readText() == ["2 auth new"])
        try engine.connection.answer(2)
        engine.scheduler.drain()
        #expect(try engine.connection.readText() == ["3 listen /a", "4 put /a 1"])
        #expect(engine.read().isEmpty)
    }

    @Test("Refreshing with a good token after refused ones connects at once")
    func refreshedToken() throws {
        let engine = try EngineUnderTest(usesTokens: true)
        for _ in 0..<3 {
            try engine.tokens.answer(.success("old"))
            engine.scheduler.drain()
            try engine.connect()
            let number = try #require(try engine.connection.read().last?.number)
            try engine.connection.answer(number, .expiredToken)
            engine.scheduler.drain()
            if engine.server.connections.count < 3 { engine.advance(by: .seconds(2)) }
        }
        #expect(!engine.tokens.isAsked)
        engine.client.tokenChanged()
        engine.scheduler.drain()
        try engine.tokens.answer(.success("new"))
        engine.scheduler.drain()
        #expect(try !engine.tokens.answer(.success("new")), "the new token is not refused yet")
        engine.scheduler.drain()
        try engine.connect()
        #expect(try engine.connection.readText().last?.hasSuffix("auth new") == true)
    }

    @Test("A listen that the server refuses cancels its listeners only")
    func refusedListen() throws {
        let engine = try EngineUnderTest()
        try engine.connect()
        engine.listen("secret", as: "secret")
        engine.listen("open", as: "open")
        try engine.connection.answer(1, .permissionDenied)
        try engine.connection.answer(2)
        #expect(engine.read() == ["secret: cancelled: permissionDenied", "open: value null"])
    }

    @Test("A listener that is removed receives nothing more, and its listen ends")
    func removal() throws {
        let engine = try EngineUnderTest()
        try engine.connect()
        let id = engine.listen("a", as: "a")
        engine.listen("a", as: "b")
        try engine.connection.answer(1)
        #expect(engine.read() == ["a: value null", "b: value null"])
        engine.client.removeListener(id, from: QuerySpec(TreePath("a")))
        try engine.connection.push(.overwrite(TreePath("a"), Node(.integer(1)), tag: nil))
        #expect(engine.read() == ["b: value 1"])
        engine.client.removeListener(ListenerID(2), from: QuerySpec(TreePath("a")))
        engine.scheduler.drain()
        #expect(try engine.connection.readText() == ["1 listen /a", "2 unlisten /a"])
    }
}
