import LarderDocumentStore
import LarderModel

/// A client's findings when it joins a store or renews its row.
struct ClientScan: Sendable {
    var hadLease: Bool
    var hasLease: Bool
    /// The time until another's lease expires, or the own lease is to be renewed.
    var nextLook: Duration
    /// The commit of the client's row.
    var commit: UInt64
    /// The network state that the primary has published.
    var network: NetworkState?
    /// Removed clients, whose rows had become old.
    var lostClients: [String] = []
}

extension SharedJournal {
    /// Adds a client to a store, with the lease if no other client is a better owner.
    ///
    /// The first client removes the rows of former clients; so does any client that finds entries
    /// of future commits.
    ///
    /// - Parameters:
    ///   - now: reads the clock, inside the write transaction: with an earlier time, rows written
    ///     meanwhile would seem to be from before the machine's last start.
    ///   - isLocal: whether the store is a local database to the client.
    /// - Throws: `failedPrecondition` if another client has opened the store as something else.
    func join(
        _ own: ClientRow<Int32>, at now: () -> Duration, in store: Store, isLocal: Bool = false
    ) throws(LarderError) -> ClientScan {
        let look = try store.write { (transaction) throws(LarderError) in
            guard try (transaction.role() == .local) == isLocal else {
                throw LarderError(
                    .failedPrecondition,
                    "The store was opened meanwhile as \(isLocal ? "a cache" : "a local database"); "
                        + "all processes that share it must open it alike.")
            }
            var own = own
            own.time = now()
            let others = try transaction.clients().filter { $0.id != own.id }
            let isFirst = !others.contains { $0.isActive(at: own.time) }
            let hasLaterEntries = try isAhead(of: transaction)
            if isFirst || hasLaterEntries {
                try transaction.removeSharedRows()
                try transaction.setJournalFloor(transaction.commitNumber)
            }
            own.appliedCommit = transaction.commitNumber
            return try scan(as: own, isForced: false, in: &transaction)
        }
        announce()
        return look
    }

    /// Renews a client's row, and takes or renews the lease of the network if it may.
    ///
    /// The primary forgets clients that were not heard of for long, and change that all have heard.
    ///
    /// - Parameters:
    ///   - now: reads the clock, as for ``join(_:at:in:)``.
    ///   - isForced: whether the client takes the lease from another.
    func renew(_ own: ClientRow<Int32>, at now: () -> Duration, isForced: Bool, in store: Store)
        throws(LarderError) -> ClientScan
    {
        let look = try store.write { (transaction) throws(LarderError) in
            var own = own
            own.time = now()
            return try scan(as: own, isForced: isForced, in: &transaction)
        }
        if look.hadLease && !look.hasLease { announce() }
        return look
    }

    /// Removes a client from a store.
    func leave(_ store: Store) throws(LarderError) {
        try store.write { (transaction) throws(LarderError) in
            var change = SharedChange()
            change.hasLeft = true
            if try transaction.lease()?.owner == clientID {
                try transaction.removeLease()
                change.freesLease = true
                change.network = NetworkState(.unknown, .notAsked)
            }
            _ = try append(change, to: &transaction)
            try transaction.removeNamedValue(.client, clientID)
        }
        announce()
    }

    /// Shares a change without another commit.
    ///
    /// - Throws: ``LarderCore/LarderError/leaseLost`` for a change that only a primary can make,
    ///   from a client without the lease.
    func post(_ change: SharedChange, of own: ClientRow<Int32>, in store: Store) throws(LarderError)
    {
        try store.write { (transaction) throws(LarderError) in
            if change.isOfPrimary { try requireLease(in: transaction) }
            if !change.begunTargets.isEmpty || !change.endedTargets.isEmpty {
                try transaction.put(own)
            }
            _ = try append(change, to: &transaction)
        }
        announce()
    }

    /// Wakes the other clients.
    func announce() {
        signal.announce(from: clientID)
    }

    private func scan(
        as own: ClientRow<Int32>, isForced: Bool, in transaction: inout WriteTransaction
    ) throws(LarderError) -> ClientScan {
        let others = try transaction.clients().filter { $0.id != own.id }
        let lease = try transaction.lease()
        let isOwner = lease?.owner == own.id
        var look = ClientScan(
            hadLease: isOwner,
            hasLease: isForced
                || Lease.mayBelong(to: own, lease: lease, others: others, at: own.time),
            nextLook: Lease.renewal, commit: transaction.commitNumber,
            network: try transaction.sharedNetworkState())
        try transaction.put(own)
        if look.hasLease {
            try transaction.put(Lease(owner: own.id, time: own.time))
            look.lostClients = try forget(others, at: own.time, in: &transaction)
            let applied = others.filter { $0.isAwake(at: own.time) }.map(\.appliedCommit).min()
            try trim(applied: applied ?? transaction.commitNumber, in: &transaction)
        } else if isOwner {
            try transaction.removeLease()
            var change = SharedChange()
            change.freesLease = true
            _ = try append(change, to: &transaction)
        } else if let lease, lease.isValid(at: own.time) {
            let left = Lease.validity - (own.time - lease.time)
            look.nextLook = min(Lease.renewal, left + .milliseconds(1))
        }
        return look
    }

    /// Removes clients that have ended without leaving.
    ///
    /// The floor of the journal makes one that returns compare everything with the store.
    private func forget(
        _ clients: [ClientRow<Int32>], at now: Duration, in transaction: inout WriteTransaction
    ) throws(LarderError) -> [String] {
        let lost = clients.filter { !$0.isActive(at: now) }.map(\.id)
        guard !lost.isEmpty else { return [] }
        for id in lost { try transaction.removeNamedValue(.client, id) }
        try transaction.setJournalFloor(transaction.commitNumber)
        return lost
    }
}

extension SharedJournal {
    /// The journal of a client; nil for one that does not share its store.
    ///
    /// - Throws: `invalidArgument` for a store in memory without a signal, or a client's id that
    ///   the store does not take.
    init?(_ configuration: ClientConfiguration, directory: String?) throws(LarderError) {
        let isShared = configuration.storage.access == .shared
        guard let sharing = configuration.sharing ?? (isShared ? Sharing() : nil) else {
            return nil
        }
        guard (1...1_000).contains(sharing.clientID.utf8.count) else {
            throw .invalidArgument("a client's id has 1 to 1,000 bytes")
        }
        if let signal = sharing.signal {
            self.init(clientID: sharing.clientID, signal: signal)
        } else if let directory {
            self.init(
                clientID: sharing.clientID,
                signal: try FileSignal(
                    directory: directory, errorDomain: LarderError.firestoreDomain))
        } else {
            throw .invalidArgument("a store in memory is shared by a signal")
        }
    }

    /// Enters the client of a configuration into a store.
    func join(
        _ configuration: ClientConfiguration, _ store: Store, evicts: Bool, isLocal: Bool
    ) throws(LarderError) -> MultiClient {
        let isForeground = configuration.sharing?.isForeground ?? true
        let usesNetwork = configuration.remote != nil
        let scheduler = configuration.scheduler
        let own = ClientRow<Int32>(
            id: clientID, time: scheduler.uptime, usesNetwork: usesNetwork,
            isForeground: isForeground)
        return MultiClient(
            self, isForeground: isForeground, usesNetwork: usesNetwork,
            evicts: evicts && configuration.evictsWithinBudget,
            joined: try join(own, at: { scheduler.uptime }, in: store, isLocal: isLocal))
    }
}
