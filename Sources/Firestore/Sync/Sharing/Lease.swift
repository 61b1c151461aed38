/// The right to use the network for all clients of a store, which one of them has at a time.
///
/// Its owner renews it; where it dies, the lease runs out and another client takes it.
package struct Lease: Sendable, Equatable {
    /// The client that has it.
    package var owner: String
    /// When it was renewed, by the clock that all processes of the machine share.
    package var time: Duration

    /// A lease that was renewed at some time.
    package init(owner: String, time: Duration) {
        self.owner = owner
        self.time = time
    }

    /// How long a lease lasts, and how long a client that has not renewed its row counts when
    /// another looks for the best owner.
    package static let validity = Duration.seconds(5)
    /// How often its owner renews it.
    package static let renewal = Duration.seconds(4)
    /// A client that was not heard of for so long has ended.
    package static let maxClientAge = Duration.seconds(30 * 60)

    /// Whether it holds.
    ///
    /// The clock begins anew with the machine, so that a time to come is from before that.
    package func isValid(at now: Duration) -> Bool { time.isAtMost(Self.validity, before: now) }

    /// Whether a client may have the network.
    ///
    /// One that has it keeps it while it can use it. Else, when nobody has it, the best client
    /// takes it: one that may use the network before one that may not, then one that somebody
    /// looks at.
    ///
    /// - Parameters:
    ///   - own: the client.
    ///   - lease: who has the network now; nil for nobody.
    ///   - others: the other clients of the store.
    ///   - now: the time.
    package static func mayBelong(
        to own: ClientRow, lease: Lease?, others: [ClientRow], at now: Duration
    ) -> Bool {
        if let lease, lease.isValid(at: now) {
            if lease.owner != own.id { return false }
            if own.usesNetwork { return true }
        }
        if own.usesNetwork, own.isForeground { return true }
        return !others.contains { other in
            guard other.time.isAtMost(validity, before: now) else { return false }
            if own.usesNetwork != other.usesNetwork { return other.usesNetwork }
            return other.isForeground && !own.isForeground
        }
    }
}

extension Duration {
    /// Whether a time is not later than another, and earlier by no more than some duration.
    func isAtMost(_ age: Duration, before now: Duration) -> Bool {
        .zero <= now - self && now - self <= age
    }
}
