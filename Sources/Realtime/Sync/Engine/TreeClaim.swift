import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderRuntime
import LarderStorage

/// The role of a store for the client that opens it, and the steps of a change.
///
/// A local database has all of its data in the tree for local-only locations. The pending writes of a
/// store that becomes a local database are made final there; a cache that has data of a server is
/// refused. The data of a local database that is given a backend is queued or kept local, as the
/// configuration says; without a choice it is refused.
struct TreeClaim {
    /// The client's configuration, with the cache rules that keep data local.
    private(set) var configuration: DatabaseClientConfiguration
    /// True for a local database: it has no backend, and a local commit is final.
    let isLocal: Bool
    let store: Store
    private let sharing: StoreSharing?

    /// Records the role and converts the contents of the store.
    ///
    /// Blocks on disk I/O. The next opening completes a conversion that failed halfway.
    ///
    /// - Parameter sharing: how the store is shared; nil for its only client.
    /// - Throws: `invalidArgument` for a local database with a backend or with rules that evict;
    ///   `failedPrecondition` for a server's cache that is to be local, for a local database that is
    ///   given a backend without a choice, and for a change while another process has the store
    ///   open; errors of the store.
    init(
        _ configuration: DatabaseClientConfiguration, _ store: Store, _ sharing: StoreSharing?
    ) throws(LarderError) {
        if configuration.isLocal, configuration.remote != nil { throw .twoSources }
        let recorded = try store.read { (transaction) throws(LarderError) in
            try transaction.role()
        }
        self.configuration = configuration
        self.store = store
        self.sharing = sharing
        // A local database stays one until it is given a backend.
        let isLocal = configuration.remote == nil && (configuration.isLocal || recorded == .local)
        self.isLocal = isLocal
        if isLocal {
            try beLocal()
        } else {
            if configuration.remote != nil {
                if recorded == .local { try leaveLocal() }
                try keepLocalRules()
            }
            try claim(configuration.remote == nil ? nil : .cache)
        }
    }

    private func claim(_ role: StoreRole?) throws(LarderError) {
        try store.claim(role) { (transaction) throws(LarderError) in
            let recorded = try transaction.role()
            guard isLocal || recorded == .local else { return }
            try checkAlone(transaction)
            guard isLocal, let main = try transaction.tree(named: Self.treeName),
                try transaction.hasContent(main)
            else { return }
            throw store.refusal(
                "is a cache of a server's data; as a local database it would never send or receive "
                    + "changes again. Use another directory: 'larder rtdb export' and 'larder rtdb "
                    + "import' copy data.")
        }
    }

    /// Throws if another client has the store open, to which it would still have its former role.
    private func checkAlone<T: ReadableTransaction & ~Copyable>(
        _ transaction: borrowing T
    ) throws(LarderError) {
        guard let locks = sharing?.locks,
            try transaction.clientRows().contains(where: { locks.isHeldByOther($0.number.lock) })
        else { return }
        throw store.refusalInUse(
            as: try transaction.role(), toBecome: isLocal ? .local : .cache)
    }

    private static var treeName: String { DatabaseDisk.treeName }
    private static var localTreeName: String { TreeCacheRules.localTreeName(of: treeName) }
}

// MARK: - A local database

extension TreeClaim {
    private func beLocal() throws(LarderError) {
        try configuration.cacheRules?.checkLocal()
        if configuration.cacheRules == nil { try storedRules()?.checkLocal() }
        // The role first: after a crash the next opening makes the pending writes final.
        try claim(.local)
        let isPending = try store.read { (transaction) throws(LarderError) in
            guard let main = try transaction.tree(named: Self.treeName) else { return false }
            return try !transaction.pendingWrites(in: main, limit: 1).isEmpty
        }
        guard isPending else { return }
        let now = configuration.clock()
        let made = try store.write { (transaction) throws(LarderError) in
            guard try transaction.role() == .local else { return (final: 0, refused: 0) }
            return try transaction.makePendingWritesFinal(
                of: transaction.obtainTree(named: Self.treeName),
                in: transaction.obtainTree(named: Self.localTreeName), at: now)
        }
        configuration.log(
            "the database is local: made \(made.final) pending writes final"
                + (made.refused == 0 ? "" : "; \(made.refused) were refused and are dead letters"))
    }

    /// The rules of the store; nil if they cannot be read, in which case none apply.
    private func storedRules() throws(LarderError) -> TreeCacheRules? {
        do throws(LarderError) {
            return try store.read { (transaction) throws(LarderError) in
                try transaction.cacheRules(ofTree: Self.treeName)
            }
        } catch {
            guard error.kind == .dataLoss else { throw error }
            return nil
        }
    }
}

// MARK: - A backend

extension TreeClaim {
    /// Queues the data of a local database, or makes its locations local only.
    private mutating func leaveLocal() throws(LarderError) {
        // Nothing is evicted before it is queued or kept by a rule.
        try store.setBudget(.unlimited)
        let (local, stored) = try store.read { (transaction) throws(LarderError) in
            try checkAlone(transaction)
            return (
                try transaction.tree(named: Self.localTreeName),
                try transaction.cacheRules(ofTree: Self.treeName)
            )
        }
        if let local { try leaveLocal(local, stored) }
        try store.setBudget(configuration.storage?.budget ?? .unlimited)
    }

    private mutating func leaveLocal(
        _ local: TreeNumber, _ stored: TreeCacheRules
    ) throws(LarderError) {
        var roots: [TreePath] = []
        try forEachRoot(of: local) { root throws(LarderError) in
            if !root.without(stored.localOnlyPaths).node.isEmpty { roots.append(root.path) }
        }
        if roots.isEmpty { return }
        switch configuration.localData {
        case nil:
            throw store.refusal(
                "is a local database, and the backend does not have its data. Set localData to "
                    + ".push to send it to the backend, or to .keepLocal to keep it in this store "
                    + "only.")
        case .push: try queue(local, besides: stored.localOnlyPaths)
        case .keepLocal: try keepLocal(roots, configuration.cacheRules ?? stored)
        }
    }

    /// Moves data from the local tree to pending writes of its leaves, as long as no other process
    /// has changed the store's role.
    private func queue(_ local: TreeNumber, besides kept: [TreePath]) throws(LarderError) {
        let main = try store.write { (transaction) throws(LarderError) in
            try transaction.obtainTree(named: Self.treeName)
        }
        let now = configuration.clock()
        try forEachRoot(of: local) { (root) throws(LarderError) in
            let data = root.without(kept)
            if data.node.isEmpty { return }
            try forEachCommit(of: data) { (parts, transaction) throws(LarderError) in
                guard try transaction.role() == .local else { return }
                var id = try transaction.highestWriteID(in: main)
                for part in parts {
                    id += 1
                    try transaction.savePending(
                        StoredWrite(id, at: now, .merge(.root, part)), in: main)
                }
            }
            // After the last part: a crash before queues it again.
            try store.write { (transaction) throws(LarderError) in
                guard try transaction.role() == .local else { return }
                let rest = root.node.keeping(kept, below: root.path)
                try transaction.overwrite(root.path, with: rest, in: local)
            }
        }
    }

    /// Makes locations local only by the rules of the store.
    private mutating func keepLocal(
        _ roots: [TreePath], _ given: TreeCacheRules
    ) throws(LarderError) {
        let rules = try given.keepingLocal(roots.filter { !given.isLocalOnly($0) })
        try rules.checkLocalOnly(configuration)
        try store.write { (transaction) throws(LarderError) in
            try transaction.setCacheRules(rules, ofTree: Self.treeName)
        }
        configuration.cacheRules = rules
    }

    /// Adds the store's rules for local-only locations to those of the configuration.
    private mutating func keepLocalRules() throws(LarderError) {
        guard configuration.localData == .keepLocal, let given = configuration.cacheRules,
            let stored = try storedRules()
        else { return }
        configuration.cacheRules = try given.keepingLocal(
            stored.localOnlyPaths.filter { !given.isLocalOnly($0) })
    }
}

extension TreeCacheRules {
    /// The rules, with locations that are local only.
    fileprivate func keepingLocal(_ paths: [TreePath]) throws(LarderError) -> TreeCacheRules {
        var list = list
        for path in paths {
            if let index = list.firstIndex(where: { $0.path == path }) {
                let rule = list[index]
                list[index] = TreeCacheRule(
                    path, isPinned: rule.isPinned, isNeverCached: rule.isNeverCached,
                    isLocalOnly: true, maximumBytes: rule.maximumBytes,
                    maximumAge: rule.maximumAge)
            } else {
                list.append(TreeCacheRule(path, isLocalOnly: true))
            }
        }
        return try TreeCacheRules(list)
    }
}

extension LarderError {
    fileprivate static var twoSources: LarderError {
        LarderError(
            realtime: .invalidArgument,
            "The database is local and has a backend; remove one of them.")
    }
}
