import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderRuntime
import LarderStorage

/// The store of a database, and the changes of the turn that are to be committed; without a store
/// everything is kept in memory.
final class DatabaseDisk {
    /// The state left by an earlier run.
    enum SavedWork {
        case write(PendingWrite, Timestamp)
        case transaction(SavedTransaction, Timestamp, wasSent: Bool)
    }

    struct Stored {
        let store: Store
        let tree: TreeNumber
        /// False for a store that others use, too, which stays open.
        let isOwned: Bool
        let reads: CacheReads
        /// Nil for the only client of the store.
        let membership: StoreMembership?
        /// What tells other clients of the commits of a local database; nil for other trees, and
        /// for the only client of the store.
        var announcer: StoreMembership?
        /// The last commit that evicted data, as far as the sync tree knows.
        var evictionCommit: UInt64
        /// The last commit that evicted data, and how many of them the sync tree does not know.
        var lastEvictionCommit: UInt64
        var evictingCommitCount = 0
    }

    /// The client's configuration, with the cache rules that the store's data needs.
    let configuration: DatabaseClientConfiguration
    /// True for a local database: it has no backend, and a local commit is final.
    let isLocal: Bool
    private(set) var stored: Stored?
    /// The store that was closed, or will be when its reads have ended.
    private var closed: Store?
    private let budget: StoreConfiguration.Budget
    let uncommitted = UncommittedChanges()
    private var transactions: [TransactionID: StoredWrite] = [:]
    private var refused: [WriteID: DeadWrite] = [:]
    private(set) var token: String?
    private(set) var writeNames = WriteNames()
    /// The sessions of earlier runs; empty in a shared store, whose membership has them.
    private var sessions = ClientSessions()
    /// The client's name, by which servers recognize its writes: that of its store.
    let clientName: String
    private let log: @Sendable (String) -> Void
    private let guarding: (@Sendable () throws(LarderError) -> Void)?

    /// The time of the turn, by the local clock.
    var time = Timestamp.now()

    /// What was written by each cache rule with a maximum size.
    var ruleSizes = CacheRuleSizes()

    /// The tree with the server's data in a client's store.
    static let treeName = "database"

    /// Opens the store, if there is to be one.
    ///
    /// Blocks on disk I/O.
    ///
    /// - Parameter store: an open store; nil to open that of the configuration.
    init(
        _ configuration: DatabaseClientConfiguration, store: Store?
    ) throws(LarderError) {
        log = configuration.log
        guarding = configuration.guarding
        guard var storage = configuration.storage else {
            if configuration.isLocal {
                throw LarderError(
                    realtime: .invalidArgument,
                    "The database is local, and its storage does not keep what nothing uses; use a "
                        + "directory or memory.")
            }
            (self.configuration, isLocal, budget) = (configuration, false, .unlimited)
            clientName = WriteToken.newName()
            return
        }
        // The client that keeps the cache evicts.
        if configuration.isShared { storage.evictsAutomatically = false }
        let opened: Store
        if let store { opened = store } else { opened = try Store(storage) }
        let isShared = configuration.isShared
        var sharing = configuration.sharing
        if isShared, sharing == nil { sharing = try StoreSharing(storeAt: opened.directory) }
        let claim = try TreeClaim(configuration, opened, isShared ? sharing : nil)
        self.configuration = claim.configuration
        isLocal = claim.isLocal
        budget = claim.isLocal ? .unlimited : storage.budget
        let (tree, name, sessions) = try opened.write { (transaction) throws(LarderError) in
            (
                try transaction.obtainTree(named: Self.treeName),
                try transaction.obtainClientName(Self.clientNameName),
                try isShared ? ClientSessions() : transaction.takeOverAllSessions(by: nil)
            )
        }
        clientName = name
        self.sessions = sessions
        let membership: StoreMembership?
        if isShared, let sharing {
            membership = try StoreMembership(sharing, opened, tree, isLocal: claim.isLocal)
        } else {
            membership = nil
        }
        let commit = opened.lastEvictionCommit
        stored = Stored(
            store: opened, tree: tree, isOwned: store == nil, reads: CacheReads(opened),
            membership: membership, evictionCommit: commit, lastEvictionCommit: commit)
        try load(opened, tree)
    }

    /// The disk of another tree in the same store, which stays open.
    private init(_ stored: Stored, beside disk: DatabaseDisk) {
        (configuration, isLocal) = (disk.configuration, disk.isLocal)
        self.stored = stored
        budget = .unlimited
        clientName = disk.clientName
        log = disk.log
        guarding = disk.guarding
    }

    /// The disk of the tree for local-only locations, which is made if there is none; nil without a
    /// store.
    func localDisk() throws(LarderError) -> DatabaseDisk? {
        guard let store = stored?.store else { return nil }
        let tree = try store.write { (transaction) throws(LarderError) in
            try transaction.obtainTree(named: Self.localTreeName)
        }
        let commit = store.lastEvictionCommit
        return DatabaseDisk(
            Stored(
                store: store, tree: tree, isOwned: false, reads: CacheReads(store),
                membership: nil, announcer: membership, evictionCommit: commit,
                lastEvictionCommit: commit),
            beside: self)
    }

    private func load(_ store: Store, _ tree: TreeNumber) throws(LarderError) {
        let (refused, token) = try store.read { (transaction) throws(LarderError) in
            (
                try transaction.refusedWrites(in: tree),
                try transaction.namedValue(.global, Self.tokenName)
            )
        }
        setRefused(refused)
        try readWriteNames()
        self.token = token.map { String(decoding: $0.payload, as: UTF8.self) }
    }

    /// The last session of an earlier run, which the server ends before it begins another; nil in a
    /// shared store, where each process has a session.
    var lastSession: String? { sessions.last }

    /// The sessions of clients that have ended, whose writes this client sends.
    var formerSessions: [String] { stored?.membership?.formerSessions ?? sessions.former }

    /// Replaces the list of refused writes.
    func setRefused(_ refused: [RefusedWrite]) {
        self.refused = [:]
        for write in refused { self.refused[WriteID(write.write.id)] = DeadWrite(write) }
    }

    static let tokenName = "realtime.token"
    private static let clientNameName = "realtime.client"

    /// The store; nil if everything is kept in memory.
    var store: Store? { stored?.store }

    /// A sync tree over what is stored.
    func makeTree(now: Int64) throws(LarderError) -> SyncTree {
        guard let stored else { return SyncTree() }
        let tree = stored.tree
        let (queries, lastID) = try stored.store.read { (transaction) throws(LarderError) in
            (
                try transaction.trackedQueries(in: tree),
                try transaction.highestWriteID(in: tree)
            )
        }
        let cache = StoreTreeCache(reads: stored.reads, tree: tree, uncommitted: uncommitted)
        let tracked: TrackedQueries
        if let membership = stored.membership, !membership.keepsCache {
            tracked = TrackedQueries(reading: queries, client: membership.number)
        } else {
            tracked = TrackedQueries(
                restoring: queries, now: now, client: stored.membership?.number)
        }
        var syncTree = SyncTree(
            StoredTree(
                cache, tracked: tracked, isKept: stored.membership?.keepsCache ?? true),
            client: stored.membership?.number)
        syncTree.note(WriteID(lastID))
        return syncTree
    }

    /// The writes and transactions that wait to be sent, in their order.
    func savedWrites() throws(LarderError) -> [StoredWrite] {
        guard let stored else { return [] }
        let tree = stored.tree
        return try stored.store.read { (transaction) throws(LarderError) in
            try transaction.pendingWrites(in: tree)
        }
    }

    /// The client's number in its store; 0 for the only client.
    private var clientNumber: Int64 { stored?.membership?.number.rawValue ?? 0 }

    /// Reads the names of the stored writes, before those of other clients are sent.
    func readWriteNames() throws(LarderError) {
        guard let stored else { return }
        try writeNames.read(from: stored.store, of: clientNumber)
    }

    /// Notes a write that the turn's commit will store.
    func noteNewWrite(_ id: WriteID) {
        if stored != nil { writeNames.noteNew(id, of: clientNumber) }
    }

    /// What a stored write or transaction of an earlier run is, which this client sends from now
    /// on.
    func work(saved write: StoredWrite) -> SavedWork {
        switch write.content {
        case .overwrite(let path, let node):
            return .write(PendingWrite(WriteID(write.id), at: path, .overwrite(node)), write.time)
        case .merge(let path, let values):
            return .write(PendingWrite(WriteID(write.id), at: path, .merge(values)), write.time)
        case .transaction(let transaction):
            transactions[TransactionID(write.id)] = write
            return .transaction(
                SavedTransaction(
                    TransactionID(write.id), at: transaction.path,
                    baseHash: transaction.baseHash, output: transaction.output,
                    isVisible: transaction.isVisible),
                write.time, wasSent: transaction.wasSent)
        }
    }

    /// Refuses calls from now on and closes the store; a second call completes with it, too.
    func close(_ completion: @escaping Completion<Void>) {
        if let stored {
            self.stored = nil
            stored.reads.unpin()
            if stored.isOwned { closed = stored.store }
        }
        guard let closed else { return completion(.success(())) }
        closed.closeWhenIdle(completion)
    }
}

// MARK: - Changes

extension DatabaseDisk {
    private func record(_ change: UncommittedChanges.Change) {
        if stored != nil { uncommitted.record(change) }
    }

    /// Stores a transaction in place of what was stored of it.
    func save(_ saved: SavedTransaction, _ time: Timestamp) {
        let transaction = StoredTransaction(
            at: saved.path, baseHash: saved.baseHash, output: saved.output,
            isVisible: saved.isVisible, wasSent: false)
        save(StoredWrite(saved.id.rawValue, at: time, .transaction(transaction)))
    }

    /// Notes that a transaction is about to be sent.
    func noteSent(_ id: TransactionID) {
        guard var write = transactions[id], case .transaction(var transaction) = write.content,
            !transaction.wasSent
        else { return }
        transaction.wasSent = true
        write.content = .transaction(transaction)
        save(write)
    }

    private func save(_ write: StoredWrite) {
        guard stored != nil else { return }
        transactions[TransactionID(write.id)] = write
        record(.saveTransaction(write))
    }

    /// Removes what was stored of a transaction.
    func forget(_ id: TransactionID) {
        if transactions.removeValue(forKey: id) != nil { record(.forgetTransaction(id)) }
    }

    /// Keeps the last accepted token, or forgets it.
    func setToken(_ token: String?) {
        guard token != self.token else { return }
        self.token = token
        record(.setToken(token))
    }

    /// Keeps the session of a connection, before anything is sent there.
    func setLastSession(_ session: String) {
        record(.setLastSession(session))
    }

    /// Replaces the cache rules.
    func setCacheRules(_ rules: TreeCacheRules) {
        record(.setCacheRules(rules))
    }

    /// The content of the turn is not changed after all.
    func dropContent() {
        uncommitted.dropContent()
    }

    /// The cache rules of the turn are not set after all.
    func dropCacheRules() {
        uncommitted.dropCacheRules()
    }

    /// Some writes of the turn were not made after all.
    func drop(_ writes: Set<WriteID>) {
        uncommitted.drop(writes)
    }

    // MARK: Refused writes

    /// The refused writes, in their order.
    var deadWrites: [DeadWrite] { refused.valuesInOrder }

    /// The refused write of a number; nil if there is none.
    func deadWrite(_ id: WriteID) -> DeadWrite? { refused[id] }

    /// Keeps a refused write.
    func add(_ write: DeadWrite) {
        refused[write.id] = write
        record(.saveRefused(RefusedWrite(write)))
    }

    /// Forgets a refused write; false if there is none.
    func removeDeadWrite(_ id: WriteID) -> Bool {
        guard refused.removeValue(forKey: id) != nil else { return false }
        record(.removeRefused(id))
        return true
    }
}

// MARK: - Commits

extension DatabaseDisk {
    /// True if the turn's changes must be on disk before its events are delivered: all but uses of
    /// queries.
    var commitsBeforeEvents: Bool { uncommitted.hasMoreThanUses }

    /// Commits the changes of the turn, all or none.
    ///
    /// Server data that no store can keep, such as a key that is too long, is left out, so
    /// that it does not stand in the way of everything else.
    ///
    /// - Parameters:
    ///   - isComplete: true to leave nothing out, but to throw.
    ///   - isCurrent: true to throw ``LarderCore/LarderError/behind`` if another client of a local
    ///     database has changed data since the last commit that is applied.
    func commit(isComplete: Bool = false, ifCurrent isCurrent: Bool = false) throws(LarderError) {
        guard let stored else { return }
        while !uncommitted.isEmpty {
            try guarding?()
            var position = 0
            do throws(LarderError) {
                try commit(uncommitted, in: stored, &position, ifCurrent: isCurrent)
                ruleSizes.note(uncommitted.runs)
                uncommitted.clear()
                evictSurplus()
                noteEviction()
            } catch {
                guard !isComplete, error.kind == .invalidArgument || error.kind == .notFound,
                    uncommitted.reduceServerChange(at: position)
                else { throw error }
                log("a change cannot be stored: \(error.message)")
            }
        }
    }

    /// - Parameter position: set to that of the change which is applied.
    private func commit(
        _ uncommitted: UncommittedChanges, in stored: Stored, _ position: inout Int,
        ifCurrent isCurrent: Bool
    ) throws(LarderError) {
        let (tree, time, membership) = (stored.tree, time, stored.membership)
        var runs: WriteRuns?
        let announcer = stored.announcer
        let isShared = try stored.store.write { (transaction) throws(LarderError) -> Bool in
            if isCurrent, try announcer?.isBehind(transaction) == true { throw .behind }
            runs = try writeNames.store(
                beginningWith: uncommitted.firstSavedWrite, of: clientNumber, in: tree,
                &transaction)
            for (index, change) in uncommitted.changes.enumerated() {
                position = index
                if case .content(let run) = change {
                    try transaction.write(uncommitted.runs[run], in: tree)
                } else {
                    try transaction.apply(change, in: tree, of: membership?.number, at: time)
                }
            }
            if let announcer {
                return try announcer.append(uncommitted.sharedLocally, to: &transaction)
            }
            guard let membership else { return false }
            return try membership.append(uncommitted.shared, to: &transaction)
        }
        if let runs { writeNames.noteStored(runs) }
        if isShared { (announcer ?? membership)?.announce() }
    }

    /// The server has accepted a write or a transaction that is removed in this turn.
    func noteAccepted(_ id: Int64) {
        if stored?.membership != nil { uncommitted.noteAccepted(id) }
    }

    /// Evicts what exceeds the budget, for all clients of a store.
    private func evictSurplus() {
        guard let stored, stored.membership?.keepsCache == true, case .bytes(let goal) = budget
        else { return }
        do throws(LarderError) {
            guard try stored.store.statistics().totalBytes > goal else { return }
            _ = try evict(toBytes: goal)
        } catch {
            log("the cache cannot be reduced to its budget: \(error.message)")
        }
    }

    /// How many commits have evicted something since ``queriesAfterEviction()``.
    var evictingCommitCount: Int { stored?.evictingCommitCount ?? 0 }

    private func noteEviction() {
        guard let commit = stored?.store.lastEvictionCommit,
            commit != stored?.lastEvictionCommit
        else { return }
        stored?.lastEvictionCommit = commit
        stored?.evictingCommitCount += 1
    }

    /// The queries that are left of those that were tracked; nil if nothing was evicted since the
    /// last call.
    func queriesAfterEviction() throws(LarderError) -> Set<TrackedQueryID>? {
        guard let stored, stored.store.lastEvictionCommit != stored.evictionCommit else {
            return nil
        }
        self.stored?.evictionCommit = stored.store.lastEvictionCommit
        self.stored?.evictingCommitCount = 0
        let tree = stored.tree
        return try stored.store.read { (transaction) throws(LarderError) in
            Set(try transaction.trackedQueries(in: tree).map(\.id))
        }
    }

    /// Evicts data that nothing needs, down to a size, in small commits.
    ///
    /// - Returns: the freed bytes.
    func evict(toBytes goal: Int64) throws(LarderError) -> Int64 {
        guard let stored else { return 0 }
        var freedBytes: Int64 = 0
        while true {
            let step = try stored.store.evict(toBytes: goal)
            freedBytes += step.freedBytes
            if !step.hasMore { return freedBytes }
        }
    }

    /// Keeps a location from eviction until the store is closed or it is released as often.
    func setPinned(_ isPinned: Bool, _ path: TreePath) throws(LarderError) {
        guard let stored else { return }
        if isPinned {
            try stored.store.pin(path, in: stored.tree)
        } else {
            try stored.store.unpin(path, in: stored.tree)
        }
    }
}
