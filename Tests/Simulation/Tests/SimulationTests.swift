import LarderSimulation
import Testing

@Suite("Worlds of clients, networks and a backend")
struct SimulationTests {
    @Test("Every promise is kept, whatever happens", arguments: 1...25 as ClosedRange<UInt64>)
    func promises(seed: UInt64) {
        let outcome = Outcome(seed: seed)
        #expect(outcome.violation == nil, "swift run LarderSimulation --seed \(seed) --trace")
    }

    @Test(
        "Promises that were once broken are kept",
        arguments: [
            // A document in limbo that may not be read, while another listener is told of it.
            707_627,
            // A committed write to a document that was deleted before the watch stream told of it.
            709_979, 720_538, 730_203, 732_802, 737_094,
            // States beside acknowledged writes, which the check took for states that never were.
            700_282, 705_473, 709_452, 713_247, 717_559, 719_765, 723_826, 723_911, 726_260,
            727_840, 731_134, 734_754, 738_431, 738_458, 1039,
            // A limited result that another target's news made short, and limbo of a target that is
            // not asked for any more, which held the place of others.
            1_038_441, 1_067_849,
            // A network that lets nearly no stream live.
            1_013_494,
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

    @Test("A network that loses what it must not lose is noticed")
    func losses() {
        let violations = (1...10).compactMap { Outcome(seed: $0, losesDocuments: true).violation }
        #expect(violations.count > 3)
    }
}
