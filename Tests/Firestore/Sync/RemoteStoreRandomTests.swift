import LarderTestSupport
import Testing

@testable import LarderSync

@Suite("The network side: anything in any order")
struct RemoteStoreRandomTests {
    @Test("Batches go out once and in order, targets are those listened to, and it comes to rest")
    func worlds() throws {
        var random = SeededRandom()
        do {
            for _ in 0..<60 { try play(seed: random.next()) }
        } catch {
            Issue.record("\(random)")
        }
    }

    private func play(seed: UInt64) throws {
        var world = RemoteStoreWorld(seed: seed)
        for _ in 0..<300 { try world.step() }
        try world.calmDown()
        try #require(world.queue.isEmpty)
        try #require(world.watch?.targets ?? [] == world.listened)
        try #require(world.listened.isEmpty || world.watch != nil)
        try world.tellAll()
        try #require(world.outcomes.values.contains(.acknowledged))
    }
}
