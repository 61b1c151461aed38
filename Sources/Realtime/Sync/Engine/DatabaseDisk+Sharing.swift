import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderRuntime
import LarderStorage

/// The commits of other clients of the store, with the rows that they name.
struct StoreNews {
    var changes: [(client: ClientNumber, change: StoreChange)] = []
    /// True if entries are missing: the lists below are all that there is.
    var isUnknown = false
    var hasMore = false
    /// By number; those that were removed since are missing.
    var writes: [Int64: StoredWrite] = [:]
    /// The results of accepted writes that are not in the cache.
    var accepted: [AcceptedWrite] = []
    /// The listens of each client.
    var listens: [ClientNumber: [Int64: QuerySpec]] = [:]
    /// All refused writes, if they have changed.
    var refused: [RefusedWrite]?

    /// The locations of a local database whose content was replaced; nil for an unknown set.
    var localPaths: [TreePath]? {
        if isUnknown { return nil }
        return changes.flatMap { $0.change.localPaths.map { TreePath($0) } }
    }
}

extension DatabaseDisk {
    /// The client's part in a store that several share; nil for the only client.
    var membership: StoreMembership? { stored?.membership }

    /// True if another client may keep the cache.
    var isReader: Bool { membership?.keepsCache == false }

    /// The commits of other clients since the last call; nil if there are none.
    func news() throws(LarderError) -> StoreNews? {
        guard let stored, let membership = stored.membership else { return nil }
        let (store, tree) = (stored.store, stored.tree)
        let (news, commit) = try store.read {
            (transaction) throws(LarderError) -> (StoreNews?, UInt64) in
            guard transaction.commitNumber != membership.appliedCommit else {
                return (nil, membership.appliedCommit)
            }
            let (found, commit) = try membership.news(in: transaction)
            var news = StoreNews()
            switch found {
            case .unknown: try news.readAll(in: transaction, tree)
            case .changes(let changes, let hasMore):
                news.changes = changes
                news.hasMore = hasMore
                if changes.isEmpty, !hasMore { return (nil, commit) }
                try news.read(in: transaction, tree)
            }
            return (news, commit)
        }
        membership.applied(commit)
        return news
    }

    /// The listens of all other clients.
    func foreignListens() throws(LarderError) -> [ClientNumber: [Int64: QuerySpec]] {
        guard let stored, let own = membership?.number else { return [:] }
        return try stored.store.read { (transaction) throws(LarderError) in
            var listens: [ClientNumber: [Int64: QuerySpec]] = [:]
            for row in try transaction.clientRows() where row.number != own {
                listens[row.number] = try transaction.listens(of: row.number)
            }
            return listens
        }
    }

    /// The results of accepted writes that are not in the cache.
    func acceptedWrites() throws(LarderError) -> [AcceptedWrite] {
        guard let stored else { return [] }
        return try stored.store.read { (transaction) throws(LarderError) in
            try transaction.acceptedWrites()
        }
    }

    /// The results of writes that the server has accepted in this turn, which are not passed to
    /// another client after all.
    func takePassed() -> [AcceptedWrite] {
        uncommitted.takePassed()
    }

    // MARK: The cache

    /// Reads the cache from one commit until the end of the turn.
    ///
    /// - Returns: the cache's queries in that commit; nil if that was called before in the turn.
    func pinCache() throws(LarderError) -> [TrackedQuery]? {
        guard let stored, stored.reads.snapshot == nil else { return nil }
        let tree = stored.tree
        return try stored.reads.pin().read { (transaction) throws(LarderError) in
            try transaction.trackedQueries(in: tree)
        }
    }

    /// The turn has ended.
    func unpinCache() {
        stored?.reads.unpin()
    }

    /// Takes over the cache, if no other client keeps it.
    ///
    /// - Returns: the cache's queries, of which none is active; nil if this client keeps the cache
    ///   already, or another one does.
    func takeCache(now: Int64) throws(LarderError) -> TrackedQueries? {
        guard let stored, let membership = stored.membership, membership.takeCache() else {
            return nil
        }
        stored.reads.unpin()
        let tree = stored.tree
        let queries = try stored.store.read { (transaction) throws(LarderError) in
            try transaction.trackedQueries(in: tree)
        }
        return TrackedQueries(restoring: queries, now: now, client: membership.number)
    }
}

extension StoreNews {
    fileprivate mutating func read(
        in transaction: borrowing ReadTransaction, _ tree: TreeNumber
    ) throws(LarderError) {
        var refusedChanged = false
        for (client, change) in changes {
            for id in change.saved {
                writes[id] = try transaction.pendingWrites(in: tree, after: id - 1, limit: 1)
                    .first { $0.id == id }
            }
            for id in change.accepted {
                if let write = try transaction.acceptedWrite(WriteID(id)) {
                    accepted.append(write)
                }
            }
            for number in change.begunListens {
                listens[client, default: [:]][number] = try transaction.listen(number, of: client)
            }
            refusedChanged = refusedChanged || change.changesDeadLetters
        }
        if refusedChanged { refused = try transaction.refusedWrites(in: tree) }
    }

    fileprivate mutating func readAll(
        in transaction: borrowing ReadTransaction, _ tree: TreeNumber
    ) throws(LarderError) {
        isUnknown = true
        for write in try transaction.pendingWrites(in: tree) { writes[write.id] = write }
        accepted = try transaction.acceptedWrites()
        refused = try transaction.refusedWrites(in: tree)
        for row in try transaction.clientRows() {
            listens[row.number] = try transaction.listens(of: row.number)
        }
    }
}

extension StoreSharing {
    /// The sharing of a store with the clients of other processes, through its files.
    init(storeAt directory: String?) throws(LarderError) {
        guard let directory else {
            throw LarderError(
                realtime: .invalidArgument, "a database in memory cannot be shared")
        }
        self.init(
            signal: try FileSignal(
                directory: directory, errorDomain: LarderError.realtimeDomain),
            locks: try FileLocks(
                directory: directory, errorDomain: LarderError.realtimeDomain))
    }
}
