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
        case cache(CacheChange)
        case saveTransaction(StoredWrite)
        case forgetTransaction(TransactionID)
        case saveRefused(RefusedWrite)
        case removeRefused(WriteID)
        case setToken(String?)
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
    /// What has changed of the tree's content.
    private(set) var content = PathTree<Node>()
    private(set) var keys: [TrackedQueryID: KeyChanges] = [:]

    var isEmpty: Bool { changes.isEmpty }

    func record(_ change: Change) {
        changes.append(change)
        guard case .cache(let change) = change else { return }
        switch change {
        case .overwrite(let path, let node): content.fold(node, at: path)
        case .merge(let path, let values):
            for value in values { content.fold(value.node, at: path.appending(value.path)) }
        case .setKeys(let id, let new): keys[id] = KeyChanges(isReplaced: true, added: new)
        case .updateKeys(let id, let added, let removed):
            var changes = keys[id] ?? KeyChanges()
            changes.added.subtract(removed)
            changes.added.formUnion(added)
            changes.removed.formUnion(removed)
            changes.removed.subtract(added)
            keys[id] = changes
        case .saveQuery, .saveWrite, .removeWrite, .removeAllWrites: break
        }
    }

    /// The changes are committed.
    func clear() {
        changes.removeAll(keepingCapacity: true)
        content = PathTree()
        keys = [:]
    }

    /// Removes a change of the server's data; false if it is another one.
    func removeServerChange(at position: Int) -> Bool {
        guard changes.indices.contains(position) else { return false }
        switch changes[position] {
        case .cache(.overwrite), .cache(.merge), .cache(.saveQuery), .cache(.setKeys),
            .cache(.updateKeys):
            changes.remove(at: position)
            return true
        default: return false
        }
    }

    /// Some writes were not made after all.
    func drop(_ writes: Set<WriteID>) {
        changes.removeAll { change in
            switch change {
            case .cache(.saveWrite(let write)): writes.contains(write.id)
            case .cache(.removeWrite(let id)): writes.contains(id)
            default: false
            }
        }
    }
}

/// The cached part of a tree in a store.
struct StoreTreeCache: TreeCache {
    let store: Store
    let tree: TreeNumber
    let uncommitted: UncommittedChanges

    private func changes(at path: TreePath) -> VisibleWrites {
        VisibleWrites(uncommitted.content).descending(to: path)
    }

    func node(at path: TreePath) throws(LarderError) -> Node {
        let changes = changes(at: path)
        if let node = changes.completeNode { return node }
        let tree = tree
        let stored = try store.read { (transaction) throws(LarderError) in
            try transaction.node(at: path, in: tree)
        }
        return changes.applied(to: stored)
    }

    func window(of query: QuerySpec) throws(LarderError) -> Node {
        guard changes(at: query.path).isEmpty else {
            return query.parameters.filtered(try node(at: query.path))
        }
        let tree = tree
        return try store.read { (transaction) throws(LarderError) in
            try transaction.window(of: query, in: tree)
        }
    }

    func children(_ keys: Set<ChildKey>, at path: TreePath) throws(LarderError) -> Node {
        let tree = tree
        var node = try store.read { (transaction) throws(LarderError) in
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
        return try store.read { (transaction) throws(LarderError) in
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
