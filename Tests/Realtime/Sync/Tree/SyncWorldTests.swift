import Foundation
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("A sync tree in random traffic")
struct SyncWorldTests {
    /// Runs as many worlds as `LARDER_SYNC_WORLDS` says.
    @Test("shows every listener its query of the server's data with the pending writes")
    func views() {
        run { SyncWorld($0) }
    }

    @Test("shows it again after a restart, without the server")
    func restarts() {
        run { SyncWorld($0, cache: MemoryTreeCache()) }
    }

    private func run(_ make: (SeededRandom) -> SyncWorld) {
        var seeds = SeededRandom()
        let count = ProcessInfo.processInfo.environment["LARDER_SYNC_WORLDS"].flatMap { Int($0) }
        for _ in 0..<(count ?? 20) {
            let seed = seeds.next()
            var world = make(SeededRandom(seed: seed))
            world.run(steps: 120)
            guard world.failures.isEmpty else {
                Issue.record(
                    """
                    \(world.failures.joined(separator: "\n"))
                    \(seeds), world \(seed)
                    \(world.log.suffix(60).joined(separator: "\n"))
                    """)
                return
            }
        }
    }
}
