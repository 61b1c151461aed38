public import LarderRealtimeModel
import LarderRealtimeStore
import LarderStorage

/// The trees of a backend in a store.
final class StoredTrees: TreeStorage {
    private let store: Store

    /// Opens a store, creating its directory if it does not exist.
    init(directory: String) throws(LarderError) {
        var configuration = StoreConfiguration(directory: directory)
        configuration.mapBytes = StoreConfiguration.modestMapBytes
        configuration.errorDomain = LarderError.realtimeDomain
        store = try Store(configuration)
    }

    func trees() throws(LarderError) -> [String: Node] {
        try store.read { (transaction) throws(LarderError) in
            var trees: [String: Node] = [:]
            for (tree, name) in try transaction.trees() {
                trees[name] = try transaction.node(at: .root, in: tree)
            }
            return trees
        }
    }

    func commit(_ values: PathTree<Node>, to namespace: String) throws(LarderError) {
        try store.write { (transaction) throws(LarderError) in
            let tree = try transaction.obtainTree(named: namespace)
            if let root = values.value {
                try transaction.overwrite(.root, with: root, in: tree)
            } else {
                var nodes: [PathValue] = []
                values.forEach { nodes.append(PathValue($0, $1)) }
                try transaction.merge(nodes, at: .root, in: tree)
            }
        }
    }

    func close(_ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void) {
        store.closeWhenIdle(completion)
    }
}

extension RealtimeBackend {
    /// Opens a backend whose trees are stored in a directory, which is created if it does not
    /// exist.
    ///
    /// Every write is on disk when it is answered. All trees are read into memory; blocks on disk
    /// I/O.
    ///
    /// - Throws: `failedPrecondition` if this or another process has the directory open; `dataLoss`
    ///   for damaged files; `permissionDenied`, `unavailable` or `resourceExhausted` for system
    ///   errors.
    public convenience init(
        _ configuration: RealtimeBackendConfiguration = RealtimeBackendConfiguration(),
        directory: String
    ) throws(LarderError) {
        try self.init(configuration, storage: StoredTrees(directory: directory))
    }
}
