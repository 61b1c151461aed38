import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderStorage

/// Moving the content of trees.
extension TreeClaim {
    /// The bytes of content in a queued write, about.
    private static let bytesPerPart = 64 << 10
    private static let partsPerCommit = 64

    /// Calls a closure with each child of a tree's root, or with the root if it is a leaf or has a
    /// priority.
    func forEachRoot(
        of tree: TreeNumber, _ body: (PathValue) throws(LarderError) -> Void
    ) throws(LarderError) {
        let whole = try store.read { (transaction) throws(LarderError) -> Node? in
            let first = try transaction.page(at: .root, in: tree, limit: 1).node.children.first
            guard let key = first?.key else { return try transaction.node(at: .root, in: tree) }
            let root = try transaction.children([key], at: .root, in: tree)
            return root.priority == .none ? nil : try transaction.node(at: .root, in: tree)
        }
        if let whole { return whole.isEmpty ? () : try body(PathValue(.root, whole)) }
        var last: ChildKey?
        while true {
            let after = last
            let page = try store.read { (transaction) throws(LarderError) in
                try transaction.page(at: .root, in: tree, after: after, limit: 100)
            }
            for child in page.node.children {
                try body(PathValue(TreePath([child.key]), child.node))
                last = child.key
            }
            if !page.hasMore { return }
        }
    }

    /// Calls a closure with the parts of a node, in commits of limited size.
    func forEachCommit(
        of value: PathValue,
        _ body: ([[PathValue]], inout WriteTransaction) throws(LarderError) -> Void
    ) throws(LarderError) {
        var parts = LeafParts(maximumBytes: Self.bytesPerPart).parts(of: value)[...]
        while !parts.isEmpty {
            let group = Array(parts.prefix(Self.partsPerCommit))
            parts = parts.dropFirst(group.count)
            try store.write { (transaction) throws(LarderError) in
                try body(group, &transaction)
            }
        }
    }
}

/// Splits nodes into lists of leaves, and of priorities of locations with children, which come
/// after their children.
private struct LeafParts {
    let maximumBytes: Int
    private var parts: [[PathValue]] = []
    private var current: [PathValue] = []
    private var sizeBytes = 0
    private var priorities: [PathValue] = []

    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    consuming func parts(of value: PathValue) -> [[PathValue]] {
        var split = self
        split.add(value.node, at: value.path)
        split.flush()
        for priority in split.priorities { split.append(priority) }
        split.flush()
        return split.parts
    }

    /// Adds a node; one that fits into a part is not divided.
    private mutating func add(_ node: Node, at path: TreePath) {
        if sizeBytes + node.estimatedSize > maximumBytes { flush() }
        if node.isLeaf { return append(PathValue(path, node)) }
        if node.priority != .none {
            priorities.append(PathValue(path.child(.priority), Node(node.priority)))
        }
        for child in node.children { add(child.node, at: path.child(child.key)) }
    }

    private mutating func append(_ value: PathValue) {
        if sizeBytes + value.node.estimatedSize > maximumBytes { flush() }
        current.append(value)
        sizeBytes += value.node.estimatedSize
    }

    private mutating func flush() {
        if !current.isEmpty { parts.append(current) }
        (current, sizeBytes) = ([], 0)
    }
}

extension PathValue {
    /// The value without what lies at some paths from the root.
    func without(_ paths: [TreePath]) -> PathValue {
        var node = node
        for excluded in paths {
            if excluded.isAncestorOrEqual(of: path) { return PathValue(path, .empty) }
            guard let below = excluded.relative(to: path) else { continue }
            node = node.setting(below, to: .empty)
        }
        return PathValue(path, node)
    }
}

extension Node {
    /// The parts of a node at some paths from the root, alone.
    func keeping(_ paths: [TreePath], below path: TreePath) -> Node {
        var kept = Node.empty
        for included in paths {
            if included.isAncestorOrEqual(of: path) { return self }
            guard let below = included.relative(to: path) else { continue }
            let node = node(at: below)
            if !node.isEmpty { kept = kept.setting(below, to: node) }
        }
        return kept
    }
}

// MARK: - Pending writes

extension ReadableTransaction where Self: ~Copyable {
    /// True if a tree has data besides pending writes.
    func hasContent(_ tree: TreeNumber) throws(LarderError) -> Bool {
        if try childCount(at: .root, in: tree) > 0 { return true }
        return try !node(at: .root, in: tree).isEmpty
    }
}

extension WriteTransaction {
    /// Moves the pending writes of a tree to the content of another one, in their order, under a
    /// server's rules.
    ///
    /// Impossible ones become refused writes.
    ///
    /// - Returns: the numbers of final and of refused writes.
    mutating func makePendingWritesFinal(
        of main: TreeNumber, in local: TreeNumber, at time: Timestamp
    ) throws(LarderError) -> (final: Int, refused: Int) {
        var count = (final: 0, refused: 0)
        for write in try pendingWrites(in: main) {
            do throws(LarderError) {
                try make(write, in: local)
                count.final += 1
            } catch {
                guard error.kind == .invalidArgument || error.kind == .aborted else { throw error }
                try saveRefused(RefusedWrite(write, error, at: time), in: main)
                count.refused += 1
            }
        }
        try removeAllPending(in: main)
        return count
    }

    private mutating func make(_ write: StoredWrite, in tree: TreeNumber) throws(LarderError) {
        let values: [PathValue]
        switch write.content {
        case .overwrite(let path, let node): values = [PathValue(path, node)]
        case .merge(let path, let merged):
            values = merged.map { PathValue(path.appending($0.path), $0.node) }
        case .transaction(let transaction):
            let found = try node(at: transaction.path, in: tree)
            guard transaction.wasSent || found.hash == transaction.baseHash else {
                throw LarderError(
                    realtime: .aborted,
                    "the data at \(transaction.path) is not what the transaction has read")
            }
            values = [PathValue(transaction.path, transaction.output)]
        }
        var made: [PathValue] = []
        for value in values {
            let existing =
                value.node.hasDeferredValues && !value.path.isPriority
                ? try node(at: value.path, in: tree) : .empty
            made.append(
                PathValue(
                    value.path,
                    value.node.resolvingServerValues(at: write.time.milliseconds) { existing }))
        }
        if made.count == 1 {
            try overwrite(made[0].path, with: made[0].node, in: tree)
        } else if !made.isEmpty {
            try merge(made, at: .root, in: tree)
        }
    }
}
