import LarderRealtimeSimulation
import SimulationSupport
import Testing

@Suite("Worlds of Realtime Database clients, networks and a backend")
struct RealtimeSimulationTests {
    @Test("Every guarantee holds in random worlds", arguments: 1...25 as ClosedRange<UInt64>)
    func promises(seed: UInt64) {
        let outcome = Outcome(seed: seed)
        #expect(
            outcome.violation == nil, "swift run LarderRealtimeSimulation --seed \(seed) --trace")
    }

    // Their worlds violated a guarantee when they were found, or do so without the fix of a fault.
    // What a seed gives changes with the simulator: the faults themselves have direct tests, most of
    // them in LarderRealtimeSyncTests.
    @Test(
        "Guarantees hold with seeds that once violated them",
        arguments: [17, 64, 74, 331, 513, 1057, 1498, 100_948, 113_349, 404_059, 423_179]
            as [UInt64])
    func mended(seed: UInt64) {
        promises(seed: seed)
    }

    @Test("A seed gives the same world again", arguments: 1...5 as ClosedRange<UInt64>)
    func replay(seed: UInt64) {
        let (first, second) = (
            Outcome(seed: seed, isHashing: true), Outcome(seed: seed, isHashing: true)
        )
        #expect(first.hash == second.hash && first.violation == second.violation)
    }

    @Test("Other seeds give other worlds")
    func seeds() {
        #expect(Outcome(seed: 1, isHashing: true).hash != Outcome(seed: 2, isHashing: true).hash)
    }

    @Test("A network that loses pushes is detected")
    func losses() {
        let violations = (1...20).compactMap { Outcome(seed: $0, losesPushes: true).violation }
        #expect(violations.count > 3)
    }
}
