import Foundation
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

    /// Two stores, copies of one; `pending` is written before.
    private func copies(pending: String? = nil) throws -> (TemporaryDirectory, [String]) {
        let folder = try TemporaryDirectory()
        let paths = ["a", "b"].map(folder.file)
        let engine = try EngineUnderTest(StoreConfiguration(directory: paths[0]))
        if let pending { write(pending, engine) }
        engine.client.terminate { _ in }
        engine.scheduler.drain()
        try FileManager.default.copyItem(atPath: paths[0], toPath: paths[1])
        return (folder, paths)
    }

    @Test("Copies of a store give the same numbers at the same time, and other tokens")
    func copiesOfStores() throws {
        let (folder, paths) = try copies(pending: "before")
        let sent = try paths.map { path in
            let engine = try EngineUnderTest(StoreConfiguration(directory: path))
            write("a", engine)
            write("b", engine)
            try engine.connect(namesID: "k")
            engine.client.terminate { _ in }
            defer { engine.scheduler.drain() }
            return try tokens(engine)
        }
        #expect(sent.map(\.count) == [3, 3])
        #expect(Set(sent.joined().map(\.client)).count == 1)
        // What was pending is the same write.
        #expect(sent[0][0].write == sent[1][0].write)
        #expect(Set(sent.joined().map(\.write)).count == 5)
        #expect(sent.joined().allSatisfy { $0.isValid })
        withExtendedLifetime(folder) {}
    }

    @Test("A write of a store that was put back has another token")
    func putBack() throws {
        let (folder, paths) = try copies()
        var names: [String] = []
        for _ in 0..<3 {
            let engine = try EngineUnderTest(StoreConfiguration(directory: paths[0]))
            write("a", engine)
            try engine.connect()
            names += try tokens(engine).map(\.write)
            engine.client.terminate { _ in }
            engine.scheduler.drain()
            try FileManager.default.removeItem(atPath: paths[0])
            try FileManager.default.copyItem(atPath: paths[1], toPath: paths[0])
        }
        #expect(names.count == 3 && Set(names).count == 3)
        withExtendedLifetime(folder) {}
    }
}
