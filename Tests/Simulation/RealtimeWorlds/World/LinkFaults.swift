import SimulationSupport

/// The likelihood of each fault of connections in a world, until it heals.
final class LinkFaults: @unchecked Sendable {
    // One thread runs a world.

    private let chance: Chance
    private var rates: [RealtimeFault: Double] = [:]
    /// True if pushes of connections that go on are lost now and then.
    var losesPushes = false
    private var isHealed = false

    /// Rates by chance: some worlds are calm, in others nearly everything fails.
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

    /// True if something goes wrong this time.
    func happens(_ fault: RealtimeFault) -> Bool {
        !isHealed && chance.isTrue(rates[fault] ?? 0)
    }

    /// True if a push is lost this time.
    func losesPush() -> Bool { losesPushes && chance.oneIn(10) }

    /// Nothing goes wrong from now on.
    func heal() { isHealed = true }
}
