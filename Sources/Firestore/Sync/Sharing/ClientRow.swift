/// A client as the others that share its store see it.
package struct ClientRow: Sendable, Equatable {
    /// What tells it from others.
    package let id: String
    /// When it last said that it is there, by the clock that all processes of the machine share.
    package var time: Duration
    /// Whether it may use the network.
    package var usesNetwork: Bool
    /// Whether somebody looks at it.
    package var isForeground: Bool
    /// The targets that it wants to hear of from the backend.
    package var targets: Set<Int32>
    /// It has heard of every commit of others up to this one.
    package var heardCommit: UInt64

    /// A client.
    package init(
        id: String, time: Duration, usesNetwork: Bool = true, isForeground: Bool = true,
        targets: Set<Int32> = [], heardCommit: UInt64 = 0
    ) {
        self.id = id
        self.time = time
        self.usesNetwork = usesNetwork
        self.isForeground = isForeground
        self.targets = targets
        self.heardCommit = heardCommit
    }

    /// Whether news is kept for it; one that sleeps looks at everything again when it wakes.
    package func isAwake(at now: Duration) -> Bool {
        time.isAtMost(Lease.renewal * 15, before: now)
    }

    /// Whether it is counted as there.
    package func isActive(at now: Duration) -> Bool {
        time.isAtMost(Lease.maxClientAge, before: now)
    }
}
