import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import LarderStorage
import Testing

@Suite("Several clients of a store: sessions at the server")
struct SharedSessionTests {
    private let world: SharedStoreWorld

    init() throws {
        world = try SharedStoreWorld()
    }

    /// Compares the sessions that each write names, of those sent since the last call.
    private func expect(
        _ engine: EngineUnderTest, _ expected: [[String]],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let former = try engine.connection.read().compactMap { sent in
            if case .once(let token, _) = sent.request { token.former } else { nil }
        }
        #expect(former == expected, sourceLocation: sourceLocation)
    }

    @Test("The first write of a connection names the sessions of clients that have ended")
    func former() throws {
        let (one, two) = (try world.open(), try world.open())
        try one.connect(session: "s1")
        try two.connect(session: "s2")
        one.set("a", 1, as: "first")
        two.set("b", 2, as: "second")
        world.settle()
        try expect(one, [[]])
        try expect(two, [[]])
        world.kill(one)
        world.pass(.seconds(4))
        two.set("b", 3, as: "third")
        world.settle()
        try expect(two, [["s1"], []])

        // No write was answered: all are sent again.
        try two.connection.raise(.closed(nil))
        world.settle()
        world.pass(.seconds(1))
        try two.connect(session: "s3")
        try expect(two, [["s1"], [], []])

        let three = try world.open()
        try three.connect(session: "s4")
        world.kill(two)
        world.pass(.seconds(4))
        try expect(three, [["s1", "s3"], [], []])
        world.close(three)

        let alone = try world.open()
        try alone.connect(session: "s5")
        try expect(alone, [["s1", "s3", "s4"], [], []])
        world.close(alone)

        let only = try EngineUnderTest(.inMemory(), store: world.store)
        #expect(try only.connection.request.lastSessionID == nil)
        try only.connect(session: "s6")
        try expect(only, [["s1", "s3", "s4", "s5"], [], []])
        only.client.terminate { _ in }
        only.scheduler.drain()

        let shared = try world.open()
        try shared.connect(session: "s7")
        try expect(shared, [["s1", "s3", "s4", "s5", "s6"], [], []])
    }

    @Test("A write keeps its name, whichever client sends it")
    func names() throws {
        func names(_ engine: EngineUnderTest) throws -> [String] {
            try engine.connection.read().compactMap { sent in
                if case .once(let token, _) = sent.request { token.write } else { nil }
            }
        }
        let (one, two) = (try world.open(), try world.open())
        try one.connect(session: "s1")
        try two.connect(session: "s2")
        one.set("a", 1, as: "first")
        world.settle()
        two.set("b", 2, as: "second")
        world.settle()
        one.set("c", 3, as: "third")
        world.settle()
        let (ofOne, ofTwo) = (try names(one), try names(two))
        #expect(ofOne.count == 2 && ofTwo.count == 1)
        world.kill(one)
        world.pass(.seconds(4))
        #expect(Set(try names(two)) == Set(ofOne))
        let three = try world.open()
        try three.connect(session: "s3")
        three.set("d", 4, as: "fourth")
        world.settle()
        let ofThree = try names(three)
        world.close(two)
        world.pass(.seconds(4))
        let all = Set(ofOne + ofTwo + ofThree)
        #expect(all.count == 4)
        #expect(Set(try names(three)) == Set(ofOne + ofTwo))
        world.close(three)
        let only = try EngineUnderTest(.inMemory(), store: world.store)
        only.set("e", 5, as: "fifth")
        try only.connect(session: "s4")
        let sent = try names(only)
        #expect(sent.count == 5 && Set(sent).isSuperset(of: all))
        only.client.terminate { _ in }
        only.scheduler.drain()
    }
}
