import LarderSimulation
import SimulationSupport
import Testing

@Suite("Worlds of clients, networks and a backend")
struct SimulationTests {
    @Test("Every guarantee holds in random worlds", arguments: 1...25 as ClosedRange<UInt64>)
    func promises(seed: UInt64) {
        let outcome = Outcome(seed: seed)
        #expect(outcome.violation == nil, "swift run LarderSimulation --seed \(seed) --trace")
    }

    // Their worlds broke a promise when they were found. What a seed gives changes with the
    // simulator: the faults themselves have tests in LarderSyncTests and LarderSpecificationTests.
    @Test(
        "Promises are kept with seeds that once broke them",
        arguments: [
            700_282, 705_473, 707_627, 709_452, 709_979, 713_247, 717_559, 719_765, 720_538,
            723_826, 723_911, 726_260, 727_840, 730_203, 731_134, 732_802, 734_754, 737_094,
            738_431, 738_458, 1039, 1_013_494, 1_038_441, 1_067_849, 5_052_107, 5_207_383,
            6_133_186,
        ] as [UInt64])
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

    @Test("A network that loses data that it must deliver is detected")
    func losses() {
        let violations = (1...10).compactMap { Outcome(seed: $0, losesDocuments: true).violation }
        #expect(violations.count > 3)
    }
}
