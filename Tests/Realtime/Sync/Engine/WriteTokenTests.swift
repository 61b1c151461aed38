import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import LarderStorage
import Testing

@Suite("The tokens of writes")
struct WriteTokenTests {
    /// The tokens of the writes that were sent since the last call.
    private func tokens(_ engine: EngineUnderTest) throws -> [WriteToken] {
        try engine.connection.read().compactMap { sent in
            if case .once(let token, _) = sent.request { token } else { nil }
        }
    }

    private func write(_ path: String, _ engine: EngineUnderTest) {
        engine.write(.overwrite(TreePath(path), Node(.integer(1))))
        engine.scheduler.drain()
    }

    @Test("A write keeps its token over connections; the next one says what was answered")
    func connections() throws {
        let engine = try EngineUnderTest()
        try engine.connect()
        write("a", engine)
        write("b", engine)
        let first = try tokens(engine)
        #expect(Set(first).count == 2 && Set(first.map(\.client)).count == 1)
        #expect(first.allSatisfy { $0.isValid && $0.answered.isEmpty })
        try engine.connection.answer(1)
        try engine.connection.raise(.closed(nil))
        engine.scheduler.drain()
        engine.advance(by: .seconds(1))
        try engine.connect(session: "s2")
        let second = try tokens(engine)
        #expect(second.map(\.write) == [first[1].write])
        #expect(second.map(\.answered) == [[first[0].write]])
        write("c", engine)
        #expect(try tokens(engine).map(\.answered) == [[]])
        // A refused write is not known to the server.
        try engine.connection.answer(3, .permissionDenied)
        engine.scheduler.drain()
        write("d", engine)
        #expect(try tokens(engine).map(\.answered) == [[]])
    }

    @Test("A write keeps its token over restarts, and another store has another name")
    func restarts() throws {
        let store = try Store(StoreConfiguration.inMemory())
        // A token has the time that is stored, not one that is read later.
        let clock = ManualClock()
        let engine = try EngineUnderTest(.inMemory(), store: store, clock: clock) {
            $0.clock = {
                clock.advance(by: .nanoseconds(1))
                return clock.timestamp
            }
        }
        try engine.connect()
        write("a", engine)
        let first = try #require(try tokens(engine).first)
        let restarted = try EngineUnderTest(.inMemory(), store: store)
        // The server ends the former session first, in which the write may still be on its way.
        #expect(try restarted.connection.request.lastSessionID == "s1")
        try restarted.connect()
        write("b", restarted)
        let tokens = try tokens(restarted)
        #expect(tokens.first == first)
        #expect(tokens.count == 2 && tokens.map(\.client) == [first.client, first.client])
        let other = try EngineUnderTest()
        try other.connect()
        write("a", other)
        #expect(try self.tokens(other).first?.client != first.client)
    }
}
