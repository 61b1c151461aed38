import SimulationSupport

/// The probabilities of faults in a world, until it heals.
final class FaultPlan: @unchecked Sendable {
    // One thread runs a world.

    private let chance: Chance
    private var rates: [Fault: Double] = [:]
    /// True if documents are lost on intact streams.
    var losesDocuments = false
    /// True once there are no more faults.
    private(set) var isHealed = false

    /// A random plan: some worlds have few faults, some have nearly only faults, and most have a
    /// few frequent ones.
    init(chance: Chance) {
        self.chance = chance
        let intensity = chance.pick([0, 0.003, 0.01, 0.03] as [Double])
        let streamFaults: [Fault] = [
            .requestLost, .answerLost, .acknowledgementLost, .snapshotLost, .streamEnded,
            .tokenExpired,
        ]
        for fault in streamFaults {
            rates[fault] = intensity * (chance.oneIn(6) ? 8 : chance.unit())
        }
        rates[.crash] = chance.oneIn(2) ? 0.002 : 0
    }

    /// True if a fault happens now.
    func happens(_ fault: Fault) -> Bool {
        !isHealed && chance.isTrue(rates[fault] ?? 0)
    }

    /// True if a document is lost now.
    func isDocumentLost() -> Bool {
        losesDocuments && chance.oneIn(10)
    }

    /// Ends all faults.
    func heal() {
        isHealed = true
    }
}
