import LarderDocumentStore
import LarderModel

/// What a client finds when it comes, or looks again.
struct ClientLook: Sendable {
    /// Whether it had the lease of the network until now.
    var hadLease: Bool
    /// Whether it has it now.
    var hasLease: Bool
    /// When the lease of another runs out, or this one is to be renewed: how long until then.
    var nextLook: Duration
    /// The commit that wrote this down.
    var commit: UInt64
    /// What the primary said of the network.
    var network: NetworkState?
    /// Clients that were not heard of for long and are forgotten.
    var lostClients: [String] = []
}

extension Journal {
    /// Enters a client into a store, as its primary when there is none that is better.
    ///
    /// The first one forgets what former clients left; so does any one where their commits are
    /// still to come.
    ///
    /// - Parameter now: the time. It is asked once nobody else writes: one from before that would
    ///   take what others wrote meanwhile for something of before the machine's last start.
    func join(_ own: ClientRow<Int32>, at now: () -> Duration, in store: Store)
        throws(LarderError) -> ClientLook
    {
        let look = try store.write { (transaction) throws(LarderError) in
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
            return try lookAround(as: own, isForced: false, in: &transaction)
        }
        announce()
        return look
    }

    /// Says that a client is still there, and takes or renews the lease of the network if it may.
    ///
    /// The primary forgets clients that were not heard of for long, and news that all have heard.
    ///
    /// - Parameters:
    ///   - now: the time, as for ``join(_:at:in:)``.
    ///   - isForced: whether the client takes the lease whoever has it.
    func renew(_ own: ClientRow<Int32>, at now: () -> Duration, isForced: Bool, in store: Store)
        throws(LarderError) -> ClientLook
    {
        let look = try store.write { (transaction) throws(LarderError) in
            var own = own
            own.time = now()
            return try lookAround(as: own, isForced: isForced, in: &transaction)
        }
        if look.hadLease && !look.hasLease { announce() }
        return look
    }

    /// Takes a client out of a store.
    func leave(_ store: Store) throws(LarderError) {
        try store.write { (transaction) throws(LarderError) in
            var news = StoreNews()
            news.hasLeft = true
            if try transaction.lease()?.owner == clientID {
                try transaction.removeLease()
                news.freesLease = true
                news.network = NetworkState(.unknown, .notAsked)
            }
            _ = try append(news, to: &transaction)
            try transaction.removeNamedValue(.client, clientID)
        }
        announce()
    }

    /// Tells the others something that no other commit goes with.
    ///
    /// - Throws: ``LarderCore/LarderError/leaseLost`` for what only a client that has the network
    ///   can tell, from one that has it no longer.
    func post(_ news: StoreNews, of own: ClientRow<Int32>, in store: Store) throws(LarderError) {
        try store.write { (transaction) throws(LarderError) in
            if news.isOfPrimary { try requireLease(in: transaction) }
            if !news.begunTargets.isEmpty || !news.endedTargets.isEmpty {
                try transaction.put(own)
            }
            _ = try append(news, to: &transaction)
        }
        announce()
    }

    /// Wakes the other clients.
    func announce() {
        signal.announce(from: clientID)
    }

    private func lookAround(
        as own: ClientRow<Int32>, isForced: Bool, in transaction: inout WriteTransaction
    ) throws(LarderError) -> ClientLook {
        let others = try transaction.clients().filter { $0.id != own.id }
        let lease = try transaction.lease()
        let isOwner = lease?.owner == own.id
        var look = ClientLook(
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
            var news = StoreNews()
            news.freesLease = true
            _ = try append(news, to: &transaction)
        } else if let lease, lease.isValid(at: own.time) {
            let left = Lease.validity - (own.time - lease.time)
            look.nextLook = min(Lease.renewal, left + .milliseconds(1))
        }
        return look
    }

    /// Forgets clients that have ended without a word.
    ///
    /// One that comes back all the same must not believe that nothing has happened.
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
