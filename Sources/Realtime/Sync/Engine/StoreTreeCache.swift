import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderStorage

/// The changes of a turn that are not committed; reads see them.
///
/// Shared by the disk, which commits them, and the cache of the sync tree, which records them; both
/// belong to one engine.
final class UncommittedChanges {
    /// A change of the store.
    enum Change {
        /// The content of places that do not overlap, which the store writes together: the values
        /// of a run.
        case content(run: Int)
        /// Any other change of the cache.
        case cache(CacheChange)
        case saveTransaction(StoredWrite)
        case forgetTransaction(TransactionID)
        case saveRefused(RefusedWrite)
        case removeRefused(WriteID)
        case setToken(String?)
        case setLastSession(String)
        case setCacheRules(TreeCacheRules)
    }

    /// How the keys of a tracked query differ from the stored ones.
    struct KeyChanges {
        /// True if the stored keys do not count.
        var isReplaced = false
        var added: Set<ChildKey> = []
        var removed: Set<ChildKey> = []
    }

    /// In the order in which they were made.
    private(set) var changes: [Change] = []
    /// The values of runs, with paths from the root.
    private(set) var runs: [[PathValue]] = []
    /// The changes of the tree's content.
    private(set) var content = PathTree<Node>()
    private(set) var keys: [TrackedQueryID: KeyChanges] = [:]
    /// The places of the last run, to which others may be added.
    private var openPlaces: PathTree<Bool>?
    /// Where the last states of tracked queries are.
    private var queries: [TrackedQueryID: Int] = [:]

    var isEmpty: Bool { changes.isEmpty }
    /// True if there are changes other than uses of queries and marks of listens.
    private(set) var hasMoreThanUses = false
    /// The writes that the server has accepted, of those that are removed.
    private var accepted: Set<Int64> = []

    /// The first write that is saved.
    var firstSavedWrite: WriteID? {
        for case .cache(.saveWrite(let write)) in changes { return write.id }
        return nil
    }

    func record(_ change: Change) {
        switch change {
        case .cache(.noteUse), .cache(.beginListen), .cache(.endListen): break
        default: hasMoreThanUses = true
        }
        guard case .cache(let cacheChange) = change else { return changes.append(change) }
        switch cacheChange {
        case .overwrite(let path, let node): replace([PathValue(path, node)])
        case .merge(let path, let values):
            replace(values.map { PathValue(path.appending($0.path), $0.node) })
        case .passAccepted(let write):
            accepted.insert(write.id.rawValue)
            changes.append(change)
        case .beginListen, .endListen, .removeAccepted: changes.append(change)
        case .saveQuery(let query), .noteUse(let query):
            if let position = queries[query.id] {
                changes[position] = change
            } else {
                queries[query.id] = changes.count
                changes.append(change)
            }
        case .removeQuery(let id):
            queries[id] = nil
            changes.append(change)
        case .setKeys(let id, let new):
            keys[id] = KeyChanges(isReplaced: true, added: new)
            changes.append(change)
        case .updateKeys(let id, let added, let removed):
            keys[id, default: KeyChanges()].update(added: added, removed: removed)
            changes.append(change)
        case .saveWrite, .removeWrite, .removeAllWrites:
            changes.append(change)
        }
    }

    /// Adds new content of places that do not overlap.
    private func replace(_ values: [PathValue]) {
        for value in values { content.fold(value.node, at: value.path) }
        if let places = openPlaces, !values.contains(where: { places.overlaps($0.path) }) {
            runs[runs.count - 1] += values
        } else {
            openPlaces = PathTree()
            changes.append(.content(run: runs.count))
            runs.append(values)
        }
        for value in values { openPlaces?[value.path] = true }
    }

    /// The changes are committed.
    func clear() {
        changes.removeAll(keepingCapacity: true)
        runs = []
        content = PathTree()
        keys = [:]
        hasMoreThanUses = false
        accepted = []
        closeRun()
    }

    /// The server has accepted a write or a transaction.
    func noteAccepted(_ id: Int64) {
        accepted.insert(id)
    }

    /// Takes the results of accepted writes back that were to be passed to another client.
    func takePassed() -> [AcceptedWrite] {
        var passed: [AcceptedWrite] = []
        changes.removeAll { change in
            guard case .cache(.passAccepted(let write)) = change else { return false }
            passed.append(write)
            return true
        }
        closeRun()
        return passed
    }

    /// What other clients of the store are told.
    var shared: StoreChange {
        var shared = StoreChange()
        func remove(_ id: Int64) {
            if accepted.contains(id) {
                shared.accepted.append(id)
            } else {
                shared.removed.append(id)
            }
        }
        for change in changes {
            switch change {
            case .cache(.saveWrite(let write)): shared.saved.append(write.id.rawValue)
            case .saveTransaction(let write): shared.saved.append(write.id)
            case .cache(.removeWrite(let id)): remove(id.rawValue)
            case .forgetTransaction(let id): remove(id.rawValue)
            case .saveRefused, .removeRefused: shared.changesDeadLetters = true
            case .cache(.beginListen(let number, _)): shared.begunListens.append(number)
            case .cache(.endListen(let number)): shared.endedListens.append(number)
            case .setCacheRules: shared.changesCacheRules = true
            case .content, .cache, .setToken, .setLastSession: break
            }
        }
        return shared
    }

    /// What other clients of a local database are told.
    var sharedLocally: StoreChange {
        var shared = StoreChange()
        shared.localPaths = changes.flatMap { change -> [String] in
            guard case .content(let run) = change else { return [] }
            return runs[run].map(\.path.text)
        }
        // All of it costs less than a list of everything.
        if shared.localPaths.count > Self.maximumSharedPaths { shared.localPaths = [""] }
        return shared
    }

    private static let maximumSharedPaths = 1_000

    /// Later changes are recorded apart from those taken.
    private func closeRun() {
        openPlaces = nil
        queries = [:]
    }

    // MARK: Refusals

    /// Takes a change of the server's data apart, or removes one that cannot be taken apart.
    ///
    /// - Returns: false if it is another change.
    func reduceServerChange(at position: Int) -> Bool {
        guard changes.indices.contains(position) else { return false }
        switch changes[position] {
        case .content(let run) where runs[run].count > 1:
            let values = runs[run]
            let single = values.indices.map { Change.content(run: runs.count + $0) }
            runs += values.map { [$0] }
            changes.replaceSubrange(position...position, with: single)
        case .content, .cache(.saveQuery), .cache(.noteUse), .cache(.setKeys), .cache(.updateKeys):
            changes.remove(at: position)
        default: return false
        }
        closeRun()
        return true
    }

    /// The content is not changed after all.
    func dropContent() {
        changes.removeAll { if case .content = $0 { true } else { false } }
        runs = []
        content = PathTree()
        closeRun()
    }

    /// The cache rules are not changed after all.
    func dropCacheRules() {
        changes.removeAll { if case .setCacheRules = $0 { true } else { false } }
        closeRun()
    }

    /// Some writes were not applied after all.
    func drop(_ writes: Set<WriteID>) {
        changes.removeAll { change in
            switch change {
            case .cache(.saveWrite(let write)): writes.contains(write.id)
            case .cache(.removeWrite(let id)): writes.contains(id)
            default: false
            }
        }
        closeRun()
    }
}

extension UncommittedChanges.KeyChanges {
    fileprivate mutating func update(added new: Set<ChildKey>, removed old: Set<ChildKey>) {
        added.subtract(old)
        added.formUnion(new)
        removed.formUnion(old)
        removed.subtract(new)
    }
}

extension PathTree {
    /// True if there is a value at a path, above it or below it.
    fileprivate func overlaps(_ path: TreePath) -> Bool {
        var isCovered = false
        visit(along: path) { _, _ in
            isCovered = true
            return false
        }
        return isCovered || subtree(at: path) != nil
    }
}

/// The commit that a cache is read from: the newest, or one that stays for a turn.
final class CacheReads {
    let store: Store
    /// The commit of the turn, while another client keeps the cache.
    private(set) var snapshot: PinnedSnapshot?

    init(_ store: Store) {
        self.store = store
    }

    func pin() throws(LarderError) -> PinnedSnapshot {
        if let snapshot { return snapshot }
        let pinned = try store.pinSnapshot()
        snapshot = pinned
        return pinned
    }

    func unpin() {
        snapshot?.end()
        snapshot = nil
    }

    func read<R>(
        _ body: (borrowing ReadTransaction) throws(LarderError) -> R
    ) throws(LarderError) -> R {
        guard let snapshot else { return try store.read(body) }
        return try snapshot.read(body)
    }
}

/// The cached part of a tree in a store.
struct StoreTreeCache: TreeCache {
    let reads: CacheReads
    let tree: TreeNumber
    let uncommitted: UncommittedChanges

    private func changes(at path: TreePath) -> VisibleWrites {
        VisibleWrites(uncommitted.content).descending(to: path)
    }

    func node(at path: TreePath) throws(LarderError) -> Node {
        let changes = changes(at: path)
        if let node = changes.completeNode { return node }
        let tree = tree
        let stored = try reads.read { (transaction) throws(LarderError) in
            try transaction.node(at: path, in: tree)
        }
        return changes.applied(to: stored)
    }

    func window(of query: QuerySpec) throws(LarderError) -> Node {
        guard changes(at: query.path).isEmpty else {
            return query.parameters.filtered(try node(at: query.path))
        }
        let tree = tree
        return try reads.read { (transaction) throws(LarderError) in
            try transaction.window(of: query, in: tree)
        }
    }

    func children(_ keys: Set<ChildKey>, at path: TreePath) throws(LarderError) -> Node {
        let tree = tree
        var node = try reads.read { (transaction) throws(LarderError) in
            try transaction.children(keys, at: path, in: tree)
        }
        let changes = changes(at: path)
        if changes.isEmpty { return node }
        for key in keys {
            node = node.settingChild(key, to: changes.child(key).applied(to: node.child(key)))
        }
        return node
    }

    func trackedKeys(of queries: [TrackedQueryID]) throws(LarderError) -> Set<ChildKey> {
        let tree = tree
        let changes = uncommitted.keys
        return try reads.read { (transaction) throws(LarderError) in
            var keys: Set<ChildKey> = []
            for id in queries {
                guard let change = changes[id] else {
                    keys.formUnion(try transaction.trackedKeys(of: [id], in: tree))
                    continue
                }
                let stored =
                    change.isReplaced ? [] : try transaction.trackedKeys(of: [id], in: tree)
                keys.formUnion(stored.subtracting(change.removed).union(change.added))
            }
            return keys
        }
    }

    mutating func record(_ change: CacheChange) {
        uncommitted.record(.cache(change))
    }
}
