/// The exclusive right to use the network for all clients of a store.
///
/// Its owner renews it; when the owner dies, the lease expires and another client takes it.
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

    /// How long a lease lasts, and the age up to which another client's row is considered when
    /// the best owner is chosen.
    package static let validity = Duration.seconds(5)
    /// How often its owner renews it.
    package static let renewal = Duration.seconds(4)
    /// The age of the row of a client that has ended.
    package static let maxClientAge = Duration.seconds(30 * 60)

    /// Whether it holds.
    ///
    /// The clock starts again with the machine: a time in the future is from before that.
    package func isValid(at now: Duration) -> Bool { time.isAtMost(Self.validity, before: now) }

    /// Whether a client may have the network.
    ///
    /// The owner keeps the lease while it can use the network. A free lease goes to the best
    /// client: those that may use the network before those that may not, then those in the
    /// foreground.
    ///
    /// - Parameters:
    ///   - own: the client.
    ///   - lease: the lease in the store; nil for none.
    ///   - others: the other clients of the store.
    ///   - now: the time.
    package static func mayBelong<Target>(
        to own: ClientRow<Target>, lease: Lease?, others: [ClientRow<Target>], at now: Duration
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
    /// Whether a time is not later than another, and earlier by no more than a duration.
    fileprivate func isAtMost(_ age: Duration, before now: Duration) -> Bool {
        .zero <= now - self && now - self <= age
    }
}

/// A client as the other clients of its store see it.
package struct ClientRow<Target: Hashable & Sendable>: Sendable, Equatable {
    package let id: String
    /// When it last wrote its row, by the clock that all processes of the machine share.
    package var time: Duration
    /// Whether it may use the network.
    package var usesNetwork: Bool
    /// Whether it is in the foreground.
    package var isForeground: Bool
    /// The targets that it listens to.
    package var targets: Set<Target>
    /// It has applied every commit of other clients up to this one.
    package var appliedCommit: UInt64

    package init(
        id: String, time: Duration, usesNetwork: Bool = true, isForeground: Bool = true,
        targets: Set<Target> = [], appliedCommit: UInt64 = 0
    ) {
        self.id = id
        self.time = time
        self.usesNetwork = usesNetwork
        self.isForeground = isForeground
        self.targets = targets
        self.appliedCommit = appliedCommit
    }

    /// Whether shared changes are kept for it; a client that sleeps compares everything with the
    /// store when it wakes.
    package func isAwake(at now: Duration) -> Bool {
        time.isAtMost(Lease.renewal * 15, before: now)
    }

    /// Whether it counts as running.
    package func isActive(at now: Duration) -> Bool {
        time.isAtMost(Lease.maxClientAge, before: now)
    }
}

/// The targets that other clients of a store listen to, as the primary knows them.
package struct TargetRegistry<Target: Hashable & Sendable>: Sendable {
    private var targets: [String: Set<Target>] = [:]
    private var counts: [Target: Int] = [:]

    /// An empty registry.
    package init() {}

    /// The targets of clients.
    package init(_ clients: some Sequence<ClientRow<Target>>) {
        for client in clients { begin(client.targets, of: client.id) }
    }

    /// The targets of all clients.
    package var all: Set<Target> { Set(counts.keys) }

    package func targets(of client: String) -> Set<Target> { targets[client] ?? [] }

    package func contains(_ target: Target) -> Bool { counts[target] != nil }

    /// Adds targets of a client, which may be registered already.
    package mutating func begin(_ added: Set<Target>, of client: String) {
        for target in added where targets[client, default: []].insert(target).inserted {
            counts[target, default: 0] += 1
        }
    }

    /// Removes targets of a client.
    package mutating func end(_ removed: Set<Target>, of client: String) {
        for target in removed where targets[client]?.remove(target) != nil {
            if let count = counts[target] { counts[target] = count > 1 ? count - 1 : nil }
        }
        if targets[client]?.isEmpty == true { targets[client] = nil }
    }

    /// Removes a target of all clients.
    package mutating func forget(_ target: Target) {
        for client in targets.keys { targets[client]?.remove(target) }
        counts[target] = nil
    }
}
