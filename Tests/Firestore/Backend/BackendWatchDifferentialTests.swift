import LarderTestSupport
import Testing

@Suite("Backend: every snapshot is what the queries give at its version")
struct BackendWatchDifferentialTests {
    @Test("Random commits, queries, slow clients, lost streams, restarts", arguments: 0..<8)
    func differential(round: Int) throws {
        let base = SeededRandom()
        let world = try WatchWorld(seed: base.seed &+ UInt64(round) &* 7919)
        for _ in 0..<250 {
            try world.step()
        }
        try world.finish()
        #expect(world.checkedSnapshotCount > 50, "\(base)")
    }
}
