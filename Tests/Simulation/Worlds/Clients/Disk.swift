import LarderModel
import LarderSync
import SimulationSupport

/// A client's disk, which refuses operations from time to time.
final class Disk: @unchecked Sendable {
    // One thread runs a world.

    private let chance: Chance
    private let journal: Journal
    private var refused: Set<LocalOperation> = []
    private var rate = 0.0
    /// Whether it has ever refused anything.
    private(set) var hasFailed = false

    /// A disk that works.
    init(chance: Chance, journal: Journal) {
        self.chance = chance
        self.journal = journal
    }

    /// Refuses some operations from now on, mostly or always.
    func fail() {
        refused = Set(LocalOperation.allCases.filter { _ in chance.oneIn(3) })
        if chance.oneIn(3) { refused = Set(LocalOperation.allCases) }
        rate = chance.oneIn(2) ? 1 : 0.5
    }

    /// Works from now on.
    func recover() {
        if !refused.isEmpty { journal.note(.diskRecovered) }
        refused = []
    }

    /// Asked before each operation.
    func begin(_ operation: LocalOperation) throws(LarderError) {
        guard refused.contains(operation), chance.isTrue(rate) else { return }
        hasFailed = true
        journal.note(.diskFailure, operation.rawValue)
        throw LarderError(.unavailable, "the disk refuses: \(operation.rawValue)")
    }
}
