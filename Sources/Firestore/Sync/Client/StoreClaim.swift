import LarderDocumentStore
import LarderModel

/// The role of a store for the client that opens it, and the steps of a change.
///
/// The pending writes of a store that becomes a local database are made final; a cache that has
/// documents of a backend is refused. The documents of a local database that is given a backend are
/// queued or kept local, as the configuration says; without a choice it is refused.
struct StoreClaim {
    /// The client's configuration, with the cache rules that keep documents local.
    private(set) var configuration: ClientConfiguration
    /// True for a local database: it has no backend, and a local commit is final.
    let isLocal: Bool
    private let store: Store

    /// Records the role and converts the contents of the store.
    ///
    /// Blocks on disk I/O. The next opening completes a conversion that failed halfway.
    ///
    /// - Throws: `invalidArgument` for a configuration that contradicts itself;
    ///   `failedPrecondition` for a backend's cache that is to be local, for a local database that is
    ///   given a backend without a choice, and for a change while another process has the store
    ///   open; errors of the store.
    init(_ configuration: ClientConfiguration, _ store: Store) throws(LarderError) {
        try configuration.checkLocal()
        let recorded = try store.read { (transaction) throws(LarderError) in
            try transaction.role()
        }
        self.configuration = configuration
        self.store = store
        // A local database stays one until it is given a backend.
        let isLocal = configuration.remote == nil && (configuration.isLocal || recorded == .local)
        self.isLocal = isLocal
        if configuration.isMaintenance { return }
        let canWrite =
            configuration.storage.access != .readOnly && store.opening.state != .readOnly
        if !canWrite {
            try checkReadOnly(recorded)
        } else if isLocal {
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
            if isLocal, recorded != .imported { try checkNotCached(transaction) }
        }
    }

    /// Throws if the store has documents of a backend, which a local database would never send its
    /// writes to.
    private func checkNotCached<T: ReadableTransaction & ~Copyable>(
        _ transaction: borrowing T
    ) throws(LarderError) {
        let rules = CacheRules(try transaction.cacheRules().map(\.rule))
        let hasDocuments = try transaction.allCollections().contains {
            $0.documentCount > 0 && !rules.isLocalOnly($0.path)
        }
        let hasTargets = try transaction.nextTarget(after: 0) != nil
        guard hasDocuments || hasTargets else { return }
        throw store.refusal(
            "is a cache of a backend's documents; as a local database it would never send or "
                + "receive changes again. Use another directory: 'larder export' and 'larder "
                + "import' copy documents.")
    }

    /// Throws if another client has the store open, to which it would still have its former role.
    private func checkAlone<T: ReadableTransaction & ~Copyable>(
        _ transaction: borrowing T
    ) throws(LarderError) {
        let now = configuration.scheduler.uptime
        guard try transaction.clients().contains(where: { $0.isActive(at: now) }) else { return }
        throw store.refusalInUse(
            as: try transaction.role(), toBecome: isLocal ? .local : .cache)
    }

    private func checkReadOnly(_ recorded: StoreRole?) throws(LarderError) {
        if configuration.isLocal, recorded != .local {
            throw store.refusal("is not a local database; open it for writing to make it one.")
        }
        if recorded == .local, configuration.remote != nil {
            throw store.refusal(
                "is a local database, which cannot be given a backend while it is open for reading "
                    + "only.")
        }
    }

    private var localStore: LocalStore {
        LocalStore(
            store: store, user: configuration.user, databaseID: configuration.databaseID,
            guarding: configuration.guarding)
    }

    // MARK: A local database

    private func beLocal() throws(LarderError) {
        // The role first: after a crash the next opening makes the remaining writes final.
        try claim(.local)
        let made = try localStore.makePendingWritesFinal(at: configuration.clock())
        if made.final + made.refused > 0 {
            configuration.storage.log?(
                .info,
                "the database is local: made \(made.final) pending writes final"
                    + (made.refused == 0
                        ? "" : "; \(made.refused) were refused and are dead letters"))
        }
    }

    // MARK: A backend

    /// Queues the documents of a local database, or makes their collections local only.
    private mutating func leaveLocal() throws(LarderError) {
        // Nothing is evicted before it is queued or kept by a rule.
        try store.setBudget(.unlimited)
        let (isEmpty, stored) = try store.read { (transaction) throws(LarderError) in
            try checkAlone(transaction)
            return (
                try transaction.allCollections().allSatisfy { $0.documentCount == 0 },
                try transaction.cacheRules().map(\.rule)
            )
        }
        switch configuration.localData {
        case _ where isEmpty: break
        case nil:
            throw store.refusal(
                "is a local database, and the backend does not have its documents. Set localData "
                    + "to .push to send them to the backend, where they replace documents of the "
                    + "same names, or to .keepLocal to keep their collections in this store only.")
        case .push: try localStore.queueDocuments(besides: CacheRules(stored))
        case .keepLocal: try keepCollectionsLocal(configuration.cacheRules ?? stored)
        }
        try store.setBudget(configuration.ownStorage.budget)
    }

    /// Makes collections that have documents local only.
    private mutating func keepCollectionsLocal(_ rules: [CacheRule]) throws(LarderError) {
        let collections = try store.read { (transaction) throws(LarderError) in
            try transaction.allCollections().filter { $0.documentCount > 0 }.map(\.path)
        }
        let rules = try CacheRule.validated(
            try CacheRule.validated(rules).keepingLocal(collections))
        try CacheRules(rules).checkUnshared(configuration)
        try store.write { (transaction) throws(LarderError) in
            try transaction.setCacheRules(rules)
        }
        configuration.cacheRules = rules
    }

    /// Adds the store's rules for local-only collections to those of the configuration.
    private mutating func keepLocalRules() throws(LarderError) {
        guard configuration.localData == .keepLocal, let given = configuration.cacheRules else {
            return
        }
        let stored = try CacheRules.stored(in: store).filter(\.isLocalOnly)
        var rules = try CacheRule.validated(given)
        for rule in stored {
            if let index = rules.firstIndex(where: { $0.selector == rule.selector }) {
                rules[index].isLocalOnly = true
            } else {
                rules.append(rule)
            }
        }
        configuration.cacheRules = rules
    }
}

extension ClientConfiguration {
    /// Throws `invalidArgument` for a local database with a backend, or with a cache's limits.
    fileprivate func checkLocal() throws(LarderError) {
        guard isLocal else { return }
        if remote != nil {
            throw .invalidArgument("The database is local and has a backend; remove one of them.")
        }
        if collectsEagerly {
            throw .invalidArgument(
                "The database is local, and its storage does not keep what nothing uses; use a "
                    + "directory or memory.")
        }
    }
}

extension [CacheRule] {
    /// The rules, changed so that collections are local only: their own rules, or those of their
    /// groups.
    fileprivate func keepingLocal(_ collections: [CollectionPath]) -> [CacheRule] {
        var rules = self
        for collection in collections where !CacheRules(rules).isLocalOnly(collection) {
            let (path, group) = (
                CacheRule.Selector.collection(collection.string),
                CacheRule.Selector.collectionGroup(collection.id)
            )
            let own = rules.firstIndex { $0.selector == path }
            if let index = own ?? rules.firstIndex(where: { $0.selector == group }) {
                rules[index].isLocalOnly = true
            } else {
                rules.append(CacheRule(group, isLocalOnly: true))
            }
        }
        return rules
    }
}
