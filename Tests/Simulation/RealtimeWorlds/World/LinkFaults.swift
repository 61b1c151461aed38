import SimulationSupport

/// The probability of each random fault in a world, until it heals.
final class LinkFaults: @unchecked Sendable {
    // One thread runs a world.

    private let chance: Chance
    private var rates: [RealtimeFault: Double] = [:]
    /// True if pushes are lost at times on intact connections.
    var losesPushes = false
    private var isHealed = false

    /// Random rates: some worlds are calm, in others nearly everything fails.
    init(chance: Chance) {
        self.chance = chance
        let intensity = chance.pick([0, 0.003, 0.01, 0.04] as [Double])
        for fault in [.requestLost, .answerLost, .acknowledgementLost, .pushLost] as [RealtimeFault]
        {
            rates[fault] = intensity * (chance.oneIn(6) ? 6 : chance.unit())
        }
        rates[.crash] = chance.oneIn(2) ? 0.002 : 0
        rates[.tokenUnavailable] = chance.oneIn(2) ? 0.2 : 0
    }

    /// True if a fault occurs this time.
    func happens(_ fault: RealtimeFault) -> Bool {
        !isHealed && chance.isTrue(rates[fault] ?? 0)
    }

    /// True if a push is lost this time.
    func losesPush() -> Bool { losesPushes && chance.oneIn(10) }

    /// Disables all faults.
    func heal() { isHealed = true }
}
