import SimulationSupport

/// How likely each thing is to go wrong in a world, until it heals.
final class FaultPlan: @unchecked Sendable {
    // One thread runs a world.

    private let chance: Chance
    private var rates: [Fault: Double] = [:]
    /// Whether documents are lost amid streams that go on, now and then.
    var losesDocuments = false
    /// Whether nothing goes wrong any more.
    private(set) var isHealed = false

    /// A plan by chance: some worlds are calm, in others nearly everything fails, most have a
    /// weakness of their own.
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

    /// Whether something goes wrong this time.
    func happens(_ fault: Fault) -> Bool {
        !isHealed && chance.isTrue(rates[fault] ?? 0)
    }

    /// Whether a document is lost this time.
    func isDocumentLost() -> Bool {
        losesDocuments && chance.oneIn(10)
    }

    /// Nothing goes wrong from now on.
    func heal() {
        isHealed = true
    }
}
