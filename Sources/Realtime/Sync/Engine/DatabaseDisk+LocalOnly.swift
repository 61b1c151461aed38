import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderStorage

/// The opening of the tree with local-only locations.
extension DatabaseDisk {
    /// True if the store has had local-only locations.
    var hasLocalTree: Bool {
        get throws(LarderError) {
            guard let store = stored?.store else { return false }
            return try store.read { (transaction) throws(LarderError) in
                try transaction.tree(named: Self.localTreeName) != nil
            }
        }
    }

    static var localTreeName: String { TreeCacheRules.localTreeName(of: treeName) }

    /// The rules that a client opens with: those of its configuration, or those of the store.
    ///
    /// - Throws: `dataLoss` if the stored ones cannot be read and some of them were local only: what
    ///   they have kept from the server would be sent.
    private func firstCacheRules() throws(LarderError) -> TreeCacheRules {
        if let given = configuration.cacheRules { return given }
        do throws(LarderError) {
            return try storedCacheRules()
        } catch {
            guard try hasLocalTree else { return TreeCacheRules() }
            throw error
        }
    }

    /// The local tree that a client opens with; nil if its rules need none, and it is no local
    /// database.
    func firstLocalTree() throws(LarderError) -> LocalTree? {
        let now = configuration.clock().milliseconds
        if isLocal {
            return try localDisk().map { (disk) throws(LarderError) in
                try LocalTree(disk, now: now)
            }
        }
        let rules = try firstCacheRules()
        try rules.checkLocalOnly(configuration)
        return try localTree(for: rules, now: now)
    }

    /// The local tree; nil if rules need none.
    func localTree(for rules: TreeCacheRules, now: Int64) throws(LarderError) -> LocalTree? {
        guard !rules.localOnlyPaths.isEmpty, let disk = try localDisk() else { return nil }
        return try LocalTree(disk, now: now)
    }
}
