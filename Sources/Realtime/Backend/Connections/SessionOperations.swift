import LarderRealtimeModel

/// A request about what the end of a session writes, with its user.
struct SessionOperation: Sendable {
    enum Change: Sendable {
        case write(TreeWrite)
        /// Nothing is written at a path and below it.
        case cancel(TreePath)
    }

    let change: Change
    let user: RealtimeUser?
}

/// A node that the end of a session writes, with the user who has registered it.
struct SessionWrite: Sendable {
    let user: RealtimeUser?
    let value: PathValue
}

/// What the end of a session writes.
///
/// Later operations replace earlier ones at their paths and below. Each is made with the
/// permissions of the user who has registered it, in the order in which users have alternated.
struct SessionOperations: Sendable {
    /// The maximum number of paths that a session may have operations for.
    static let maxCount = 100_000
    /// The maximum size of all values together.
    static let maxBytes = 32 << 20

    /// The operations of one user.
    struct Part: Sendable {
        let user: RealtimeUser?
        var tree = OnDisconnectTree()
    }

    /// A count of paths with the size of what they hold.
    struct Size: Sendable {
        /// The memory of a path beside its node.
        private static let pathBytes = 256

        var count = 0
        var bytes = 0

        mutating func add(_ node: Node) {
            count += 1
            bytes += Self.pathBytes + node.estimatedSize
        }
    }

    private(set) var parts: [Part] = []
    /// What the operations hold at most: those that were replaced are in it until it is measured.
    private(set) var size = Size()
    private var measured = Size()

    var isEmpty: Bool { parts.isEmpty }

    mutating func apply(_ operation: SessionOperation) {
        switch operation.change {
        case .write(let write): remember(write, as: operation.user)
        case .cancel(let path): forEachPart(parts.indices) { $0.forget(path) }
        }
        if parts.isEmpty || size.count > 2 * measured.count + 64
            || size.bytes > 2 * measured.bytes + (64 << 10)
        {
            measure()
        }
    }

    private mutating func remember(_ write: TreeWrite, as user: RealtimeUser?) {
        for value in write.values { size.add(value.node) }
        let isOfLast = parts.last?.user == user
        let others = parts.indices.dropLast(isOfLast ? 1 : 0)
        // The last part is changed in place: a copy would cost the number of its paths.
        if !isOfLast || parts.isEmpty { parts.append(Part(user: user)) }
        let last = parts.count - 1
        parts[last].tree.remember(write.path, write.values)
        forEachPart(others) { tree in
            for value in write.values { tree.replace(at: write.path.appending(value.path)) }
        }
    }

    /// Changes parts, and removes all that are empty.
    private mutating func forEachPart(
        _ indices: Range<Int>, _ change: (inout OnDisconnectTree) -> Void
    ) {
        for index in indices { change(&parts[index].tree) }
        parts.removeAll(where: \.tree.isEmpty)
    }

    private mutating func measure() {
        measured = Size()
        for part in parts { part.tree.forEach { measured.add($1) } }
        size = measured
    }

    /// The reason why a write cannot be added; nil if it can.
    mutating func refusal(of write: TreeWrite) -> String? {
        func fits(_ size: Size) -> Bool {
            var size = size
            for value in write.values { size.add(value.node) }
            return size.count <= Self.maxCount && size.bytes <= Self.maxBytes
        }
        if fits(size) { return nil }
        measure()
        return fits(size)
            ? nil
            : "a session is limited to \(Self.maxCount) onDisconnect operations of "
                + "\(Self.maxBytes >> 20) MiB"
    }

    /// What is written, in its order.
    ///
    /// Adjacent parts of one user are one: the order is the same whether the operations were
    /// registered one by one or come from records.
    var writes: [SessionWrite] {
        var writes: [SessionWrite] = []
        var index = parts.startIndex
        while index < parts.endIndex {
            let user = parts[index].user
            var values = parts[index].tree.writes
            index += 1
            while index < parts.endIndex, parts[index].user == user {
                values = (values + parts[index].tree.writes).sorted { $0.path < $1.path }
                index += 1
            }
            writes += values.map { SessionWrite(user: user, value: $0) }
        }
        return writes
    }

    /// Operations that lead to this state, one a path.
    var operations: [SessionOperation] {
        writes.map {
            SessionOperation(
                change: .write(TreeWrite($0.value.path, $0.value.node)), user: $0.user)
        }
    }
}
