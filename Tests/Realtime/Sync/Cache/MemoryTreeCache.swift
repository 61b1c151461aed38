import LarderRealtimeModel
import LarderRealtimeStore
import LarderRealtimeSync

/// A cache in memory, which outlives the sync trees that use it.
final class MemoryTreeCache: TreeCache {
    private(set) var content = Node.empty
    private(set) var queries: [TrackedQueryID: TrackedQuery] = [:]
    private(set) var keys: [TrackedQueryID: Set<ChildKey>] = [:]
    private(set) var writes: [WriteID: PendingWrite] = [:]
    /// The error of the next reads.
    var error: LarderError?
    private(set) var changes: [CacheChange] = []

    /// The stored part of a tree after a start at a time.
    func start(at now: Int64 = 0) -> StoredTree {
        StoredTree(self, tracked: TrackedQueries(restoring: queries.values, now: now))
    }

    func node(at path: TreePath) throws(LarderError) -> Node {
        if let error { throw error }
        return content.node(at: path)
    }

    func window(of query: QuerySpec) throws(LarderError) -> Node {
        if let error { throw error }
        return query.parameters.filtered(content.node(at: query.path)).settingPriority(.none)
    }

    func children(_ keys: Set<ChildKey>, at path: TreePath) throws(LarderError) -> Node {
        if let error { throw error }
        let node = content.node(at: path)
        return Node(children: keys.map { Child($0, node.child($0)) })
    }

    func trackedKeys(of queries: [TrackedQueryID]) throws(LarderError) -> Set<ChildKey> {
        if let error { throw error }
        return queries.reduce(into: []) { $0.formUnion(keys[$1] ?? []) }
    }

    func record(_ change: CacheChange) {
        changes.append(change)
        switch change {
        case .overwrite(let path, let node): content = content.setting(path, to: node)
        case .merge(let path, let values):
            for value in values {
                content = content.setting(path.appending(value.path), to: value.node)
            }
        case .saveQuery(let query), .noteUse(let query): queries[query.id] = query
        case .removeQuery(let id): (queries[id], keys[id]) = (nil, nil)
        case .setKeys(let id, let set): keys[id] = set
        case .updateKeys(let id, let added, let removed):
            keys[id] = (keys[id] ?? []).union(added).subtracting(removed)
        case .saveWrite(let write): writes[write.id] = write
        case .removeWrite(let id): writes[id] = nil
        case .removeAllWrites: writes = [:]
        case .beginListen, .endListen, .passAccepted, .removeAccepted: break
        }
    }

    /// Removes a query with its data, as an eviction does.
    func evict(_ query: QuerySpec) {
        for (id, tracked) in queries where tracked.query == query.normalized {
            queries[id] = nil
            keys[id] = nil
        }
        content = content.setting(query.path, to: .empty)
    }
}
