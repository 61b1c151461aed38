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
    /// True if it has ever refused an operation.
    private(set) var hasFailed = false

    /// A disk without faults.
    init(chance: Chance, journal: Journal) {
        self.chance = chance
        self.journal = journal
    }

    /// Starts to refuse operations, most or all of them.
    func fail() {
        refused = Set(LocalOperation.allCases.filter { _ in chance.oneIn(3) })
        if chance.oneIn(3) { refused = Set(LocalOperation.allCases) }
        rate = chance.oneIn(2) ? 1 : 0.5
    }

    /// Stops refusing operations.
    func recover() {
        if !refused.isEmpty { journal.note(.diskRecovered) }
        refused = []
    }

    /// Called before each operation; throws to refuse it.
    func begin(_ operation: LocalOperation) throws(LarderError) {
        guard refused.contains(operation), chance.isTrue(rate) else { return }
        hasFailed = true
        journal.note(.diskFailure, operation.rawValue)
        throw LarderError(.unavailable, "the disk refuses: \(operation.rawValue)")
    }
}
