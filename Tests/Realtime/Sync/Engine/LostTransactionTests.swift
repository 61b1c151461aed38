import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import LarderStorage
import Testing

/// A counter of 1 is incremented by a transaction that was sent, then the connection ends.
@Suite("Transactions whose answers are lost")
struct LostTransactionTests {
    /// A client with a transaction `t` on its way, as request 2.
    ///
    /// - Parameter namesID: what identifies the names of the server; nil for one without.
    private func sent(
        namesID: String? = "k", _ storage: StoreConfiguration? = nil, store: Store? = nil
    ) throws -> EngineUnderTest {
        let engine = try EngineUnderTest(storage, store: store)
        try engine.connect(namesID: namesID)
        engine.listen(QuerySpec(TreePath("n")), as: "n", [.value])
        try push(1, engine)
        try engine.connection.answer(1)
        #expect(engine.read() == ["n: value 1"])
        engine.increment("n", as: "t")
        #expect(engine.read() == ["t sees 1", "n: value 2"])
        return engine
    }

    private func push(_ value: Int64, _ engine: EngineUnderTest) throws {
        try engine.connection.push(.overwrite(TreePath("n"), Node(.integer(value)), tag: nil))
        engine.scheduler.drain()
    }

    private func answer(
        _ number: Int, _ engine: EngineUnderTest, _ status: ResponseStatus = .ok
    ) throws {
        try engine.connection.answer(number, status)
        engine.scheduler.drain()
    }

    /// The connection ends.
    private func lose(_ engine: EngineUnderTest) throws {
        try engine.connection.raise(.closed(nil))
        engine.scheduler.drain()
    }

    /// The next connection is made.
    private func reconnect(_ engine: EngineUnderTest, namesID: String? = "k") throws {
        engine.advance(by: .seconds(40))
        try engine.connect(session: "s2", namesID: namesID)
    }

    /// The puts that were sent on the newest connection since the last call: value and token.
    private func puts(
        _ engine: EngineUnderTest
    ) throws -> [(number: Int, text: String, token: WriteToken?)] {
        try engine.connection.read().compactMap { sent in
            guard case .put(let path, let node, let hash) = sent.request.content else { return nil }
            var token: WriteToken?
            if case .once(let name, _) = sent.request { token = name }
            let text = "\(path) \(node.text)" + (hash == nil ? "" : " if")
            return (sent.number, text, token)
        }
    }

    @Test("Clients that begin at the same time name their puts differently")
    func names() throws {
        let names = try (0..<2).map { _ in try puts(try sent()).map { $0.token?.write } }
        #expect(names[0].count == 1 && names[0] != names[1])
    }

    @Test("One that was made is answered by the next connection, under the same name, and once")
    func made() throws {
        let engine = try sent()
        let first = try #require(try puts(engine).first)
        let token = try #require(first.token)
        #expect(first.text == "/n 2 if" && token.isValid && token.answered.isEmpty)
        try lose(engine)
        #expect(engine.read() == [], "its output stays")
        try reconnect(engine)
        let second = try #require(try puts(engine).first)
        #expect(second.text == "/n 2 if" && second.token == token)
        // Others have changed the data since.
        try push(5, engine)
        try answer(second.number, engine)
        #expect(engine.read() == [], "answers wait for the data")
        try answer(second.number - 1, engine)
        #expect(engine.read() == ["n: value 5", "t committed 2"])
        // The server learns that it can forget the name.
        engine.increment("n", as: "u")
        let next = try #require(try puts(engine).first)
        #expect(next.text == "/n 6 if" && next.token?.answered == [token.write])
        #expect(next.token?.write != token.write && next.token?.client == token.client)
        try push(6, engine)
        try answer(next.number, engine)
        #expect(engine.read() == ["u sees 5", "n: value 6", "u committed 6"])
        #expect(engine.warnings.withLock { $0 }.allSatisfy { !$0.contains("transaction") })
    }

    @Test("One that was not made, and whose data is another, runs again, under another name")
    func stale() throws {
        let engine = try sent()
        let first = try #require(try puts(engine).first)
        try lose(engine)
        try reconnect(engine)
        let second = try #require(try puts(engine).first)
        try push(7, engine)
        try answer(second.number - 1, engine)
        try answer(second.number, engine, .dataStale)
        #expect(engine.read() == ["t sees 7", "n: value 8"])
        let third = try #require(try puts(engine).first)
        #expect(third.text == "/n 8 if" && third.token?.answered == [])
        #expect(third.token?.write != first.token?.write)
        // The answer to that one is lost as well.
        try lose(engine)
        try reconnect(engine)
        let fourth = try #require(try puts(engine).first)
        #expect(fourth.text == third.text && fourth.token?.write == third.token?.write)
        try push(8, engine)
        try answer(fourth.number - 1, engine)
        try answer(fourth.number, engine)
        #expect(engine.read() == ["t committed 8"])
    }

    @Test("One that is denied ends")
    func denied() throws {
        let engine = try sent()
        try lose(engine)
        try reconnect(engine)
        let put = try #require(try puts(engine).first)
        try answer(put.number - 1, engine)
        try answer(put.number, engine, .permissionDenied)
        #expect(engine.read() == ["n: value 1", "t failed: permissionDenied"])
    }

    @Test("It keeps its place among writes that are sent again")
    func order() throws {
        let engine = try sent()
        try engine.set("a", .integer(1))
        engine.increment("m", as: "u")
        try engine.set("b", .integer(1))
        #expect(
            try puts(engine).map(\.text) == ["/n 2 if", "/a 1", "/m 1 if", "/b 1"])
        try lose(engine)
        try reconnect(engine)
        let again = try puts(engine)
        #expect(again.map(\.text) == ["/n 2 if", "/a 1", "/m 1 if", "/b 1"])
        #expect(Set(again.compactMap(\.token?.write)).count == 4)
    }

    @Test("It survives connections that end before or after it was sent again")
    func severalLosses() throws {
        let engine = try sent()
        try lose(engine)
        engine.advance(by: .seconds(40))
        try lose(engine)
        for _ in 0..<3 {
            try reconnect(engine)
            #expect(try puts(engine).map(\.text) == ["/n 2 if"])
            try lose(engine)
        }
        #expect(engine.read() == [])
        try reconnect(engine)
        let put = try #require(try puts(engine).first)
        try push(2, engine)
        try answer(put.number - 1, engine)
        try answer(put.number, engine)
        #expect(engine.read() == ["t committed 2"])
    }

    @Test("Without names it ends with its connection, and its put is that of other clients")
    func noNames() throws {
        let engine = try sent(namesID: nil)
        #expect(try puts(engine).map(\.token) == [nil])
        try lose(engine)
        #expect(engine.read() == ["n: value 1", "t failed: unknown"])
        try reconnect(engine)
        #expect(try puts(engine).isEmpty)
    }

    @Test(
        "It ends when the next server keeps no names, or others", arguments: [nil, "other"])
    func otherNames(namesID: String?) throws {
        let engine = try sent()
        try lose(engine)
        try reconnect(engine, namesID: namesID)
        #expect(engine.read() == ["n: value 1", "t failed: unknown"])
        #expect(try puts(engine).isEmpty)
        try lose(engine)
        try reconnect(engine)
        #expect(try puts(engine).isEmpty && engine.read().isEmpty)
    }

    @Test("It ends when the server sends its clients to a host with other names")
    func otherHost() throws {
        let engine = try sent()
        try engine.connection.raise(.reset(host: "elsewhere"))
        engine.scheduler.drain()
        #expect(engine.read() == [])
        try engine.connect(session: "s2", namesID: "other")
        #expect(engine.read() == ["n: value 1", "t failed: unknown"])
    }

    @Test(
        "It ends when the application goes offline, or the server sends its clients away",
        arguments: [true, false], [true, false])
    func offline(isApplication: Bool, isConnected: Bool) throws {
        let engine = try sent()
        let put = try #require(try puts(engine).first)
        if !isConnected {
            try lose(engine)
            engine.advance(by: .seconds(40))
        }
        if isApplication {
            engine.client.goOffline()
        } else {
            try engine.connection.raise(.shutdown(reason: "enough"))
        }
        #expect(engine.read() == ["n: value 1", "t failed: unknown"])
        engine.client.goOnline()
        engine.scheduler.drain()
        try engine.connect(session: "s2", namesID: "k")
        #expect(try puts(engine).isEmpty && engine.read().isEmpty)
        // It is not sent again: the server can forget its name.
        try engine.set("a", .integer(1))
        let answered = try #require(try puts(engine).first?.token?.answered)
        #expect(answered == [try #require(put.token?.write)])
    }

    @Test("It ends when the client is closed, and is a dead letter of the next run")
    func closed() throws {
        let store = try Store(StoreConfiguration.inMemory())
        let engine = try sent(.inMemory(), store: store)
        try lose(engine)
        engine.client.terminate { _ in }
        #expect(engine.read() == ["t failed: cancelled"])
        let next = try EngineUnderTest(.inMemory(), store: store)
        try next.connect(namesID: "k")
        #expect(try puts(next).isEmpty)
        let dead = Box<[DeadWrite]>([])
        next.client.deadWrites { result in dead.withLock { $0 = (try? result.get()) ?? [] } }
        next.scheduler.drain()
        #expect(dead.withLock { $0.map(\.error.kind) } == [.unknown])
        #expect(engine.read() == [])
    }

    @Test("A write that overrides it decides unless it was made", arguments: [true, false])
    func overridden(wasMade: Bool) throws {
        let engine = try sent()
        try lose(engine)
        try engine.set("n", .integer(9))
        #expect(engine.read() == ["n: value 9"])
        try reconnect(engine)
        let again = try puts(engine)
        #expect(again.map(\.text) == ["/n 2 if", "/n 9"])
        try answer(again[0].number - 1, engine)
        try answer(again[0].number, engine, wasMade ? .ok : .dataStale)
        #expect(engine.read() == [wasMade ? "t committed 2" : "t failed: aborted"])
    }

    @Test("The next transaction of the location runs on its output, and is sent after its answer")
    func next() throws {
        let engine = try sent()
        try lose(engine)
        engine.increment("n", as: "u")
        #expect(engine.read() == ["u sees 2", "n: value 3"])
        try reconnect(engine)
        let again = try puts(engine)
        #expect(again.map(\.text) == ["/n 2 if"])
        try push(2, engine)
        try answer(again[0].number - 1, engine)
        try answer(again[0].number, engine)
        #expect(engine.read() == ["t committed 2"])
        #expect(try puts(engine).map(\.text) == ["/n 3 if"])
    }

    @Test("A disk that refuses a commit does not end it")
    func disk() throws {
        let isFull = Box(false)
        let engine = try EngineUnderTest(.inMemory()) {
            $0.guarding = { () throws(LarderError) in
                if isFull.withLock({ $0 }) {
                    throw LarderError(realtime: .resourceExhausted, "full")
                }
            }
        }
        try engine.connect(namesID: "k")
        engine.increment("n", as: "t")
        let first = try #require(try puts(engine).first)
        _ = engine.read()
        isFull.withLock { $0 = true }
        engine.write(.overwrite(TreePath("x"), Node(.integer(1))), as: "w")
        #expect(engine.read() == ["w failed: resourceExhausted"])
        isFull.withLock { $0 = false }
        engine.advance(by: .seconds(60))
        try engine.connect(session: "s2", namesID: "k")
        let again = try #require(try puts(engine).first)
        #expect(again.text == first.text && again.token?.write == first.token?.write)
        try answer(again.number - 1, engine)
        try answer(again.number, engine)
        #expect(engine.read() == ["t committed 1"])
    }
}
