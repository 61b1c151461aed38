import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderStorage

extension DatabaseDisk {
    /// The rules of the store.
    ///
    /// - Throws: `dataLoss` for rules that cannot be read.
    func storedCacheRules() throws(LarderError) -> TreeCacheRules {
        guard let stored else { return TreeCacheRules() }
        return try stored.store.read { (transaction) throws(LarderError) in
            try transaction.cacheRules(ofTree: Self.treeName)
        }
    }

    /// The rules of the store with what is cached by each.
    func cacheRuleUsage() throws(LarderError) -> [TreeCacheRuleUsage] {
        guard let stored else { return [] }
        return try stored.store.read { (transaction) throws(LarderError) in
            try transaction.cacheRuleUsage(ofTree: Self.treeName)
        }
    }

    /// The size in bytes of the cached data that a rule applies to.
    func cachedBytes(
        by rule: TreeCacheRule, of rules: TreeCacheRules
    ) throws(LarderError) -> Int64 {
        guard let stored else { return 0 }
        let tree = stored.tree
        return try stored.store.read { (transaction) throws(LarderError) in
            try transaction.cachedBytes(by: rule, of: rules, in: tree)
        }
    }

    /// The size in bytes of a query's data, about; at least 1.
    func estimatedBytes(of query: TrackedQuery) throws(LarderError) -> Int64 {
        guard let stored else { return 1 }
        let (tree, path) = (stored.tree, query.query.path)
        return try stored.store.read { (transaction) throws(LarderError) in
            let size: Int
            if query.isComplete, !query.query.isDefault {
                let keys = try transaction.trackedKeys(of: [query.id], in: tree)
                size = try transaction.children(keys, at: path, in: tree).estimatedSize
            } else {
                let usage = try transaction.usage(at: path, in: tree).sizeBytes
                size =
                    usage > 0 ? usage : try transaction.node(at: path, in: tree).estimatedSize
            }
            return Int64(max(1, size))
        }
    }
}
