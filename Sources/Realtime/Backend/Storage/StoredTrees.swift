public import LarderRealtimeModel
import LarderRealtimeStore
import LarderStorage

/// The trees of a backend in a store.
final class StoredTrees: TreeStorage {
    private let store: Store

    /// Opens a store, creating its directory if it does not exist.
    ///
    /// - Parameter mapBytes: the address space to reserve.
    init(
        directory: String, mapBytes: UInt64 = StoreConfiguration.modestMapBytes
    ) throws(LarderError) {
        var configuration = StoreConfiguration(directory: directory)
        configuration.mapBytes = mapBytes
        configuration.errorDomain = LarderError.realtimeDomain
        // The trees cannot be fetched from anywhere else: an operator decides.
        configuration.recovery = .fail
        store = try Store(configuration)
        try store.claim(.backend)
    }

    func trees() throws(LarderError) -> [String: StoredTree] {
        try store.read { (transaction) throws(LarderError) in
            var trees: [String: StoredTree] = [:]
            for (tree, name) in try transaction.trees() {
                trees[name] = StoredTree(
                    try transaction.largeNode(at: .root, in: tree, ChildrenCompressor()),
                    records: try transaction.records(of: name))
            }
            return trees
        }
    }

    func commit(_ changes: TreeCommit, to namespace: String) throws(LarderError) {
        try store.write { (transaction) throws(LarderError) in
            let tree = try transaction.obtainTree(named: namespace)
            try transaction.write(changes.values, in: tree)
            for (owner, records) in changes.records {
                try transaction.change(records, of: owner, in: namespace)
            }
        }
    }

    func close(_ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void) {
        store.closeWhenIdle(completion)
    }
}

/// Records are named values of the store, `realtime/SIZE/NAMESPACE/KIND/OWNER/NUMBER`: the size in
/// bytes comes first since namespaces may have slashes.
private func recordPrefix(of namespace: String) -> String {
    "realtime/\(namespace.utf8.count)/\(namespace)/"
}

extension ReadableTransaction where Self: ~Copyable {
    fileprivate func records(
        of namespace: String
    ) throws(LarderError) -> [RecordOwner: [[UInt8]]] {
        let prefix = recordPrefix(of: namespace)
        var records: [RecordOwner: [[UInt8]]] = [:]
        for value in try namedValues(.global, beginningWith: prefix) {
            let parts = value.name.dropFirst(prefix.count).split(separator: "/")
            // What a later version keeps is left alone.
            guard parts.count == 3, let kind = RecordOwner.Kind(rawValue: String(parts[0])) else {
                continue
            }
            records[RecordOwner(kind, String(parts[1])), default: []].append(value.payload)
        }
        return records
    }
}

extension WriteTransaction {
    fileprivate mutating func write(
        _ values: PathTree<Node>, in tree: TreeNumber
    ) throws(LarderError) {
        var nodes: [PathValue] = []
        if let root = values.value {
            nodes.append(PathValue(.root, root))
        } else {
            values.forEach { nodes.append(PathValue($0, $1)) }
        }
        var parts = TreeParts()
        for value in nodes.sorted(by: { $0.order < $1.order }) {
            try parts.add(value) { (part) throws(LarderError) in
                try write(part, in: tree)
            }
        }
        try write(parts.rest, in: tree)
    }

    private mutating func write(
        _ part: [PathValue], in tree: TreeNumber
    ) throws(LarderError) {
        if part.count == 1, let value = part.first {
            try overwrite(value.path, with: value.node, in: tree)
        } else if !part.isEmpty {
            try merge(part, at: .root, in: tree)
        }
    }

    fileprivate mutating func change(
        _ records: TreeCommit.Records, of owner: RecordOwner, in namespace: String
    ) throws(LarderError) {
        let prefix = "\(recordPrefix(of: namespace))\(owner.kind.rawValue)/\(owner.id)/"
        if records.replacesAll {
            for name in try namedValueNames(.global, beginningWith: prefix) {
                try removeNamedValue(.global, name)
            }
        }
        for (number, record) in records.values {
            // In the order of the numbers by bytes as well.
            let digits = String(number)
            let zeros = String(repeating: "0", count: max(0, 10 - digits.count))
            try putNamedValue(.global, prefix + zeros + digits, record)
        }
    }
}

extension PathValue {
    /// The order of values that are stored in parts: priorities belong to nodes that are there, and
    /// removals come last, so that no node is empty in between.
    fileprivate var order: Int { node.isEmpty ? 2 : path.isPriority ? 1 : 0 }
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
        let mapBytes = configuration.mapBytes ?? StoreConfiguration.modestMapBytes
        try self.init(
            configuration, storage: StoredTrees(directory: directory, mapBytes: mapBytes))
    }
}
