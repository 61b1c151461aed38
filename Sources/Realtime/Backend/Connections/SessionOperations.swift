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

/// What the end of a session writes.
///
/// Later operations replace earlier ones at their paths and below. Each is made with the
/// permissions of the user who has registered it, in the order in which users have alternated.
struct SessionOperations: Sendable {
    /// The operations of one user.
    struct Part: Sendable {
        let user: RealtimeUser?
        var tree = OnDisconnectTree()
    }

    private(set) var parts: [Part] = []

    var isEmpty: Bool { parts.isEmpty }

    mutating func apply(_ operation: SessionOperation) {
        switch operation.change {
        case .write(let write): remember(write, as: operation.user)
        case .cancel(let path): forEachPart { $0.forget(path) }
        }
    }

    private mutating func remember(_ write: TreeWrite, as user: RealtimeUser?) {
        let last = parts.last?.user == user ? parts.popLast() : nil
        for value in write.values {
            forEachPart { $0.replace(at: write.path.appending(value.path)) }
        }
        var part = last ?? Part(user: user)
        part.tree.remember(write.path, write.values)
        if !part.tree.isEmpty { parts.append(part) }
    }

    private mutating func forEachPart(_ change: (inout OnDisconnectTree) -> Void) {
        for index in parts.indices { change(&parts[index].tree) }
        parts.removeAll(where: \.tree.isEmpty)
    }

    /// Operations that lead to this state, one a path.
    var operations: [SessionOperation] {
        parts.flatMap { part in
            part.tree.writes.map {
                SessionOperation(change: .write(TreeWrite($0.path, $0.node)), user: part.user)
            }
        }
    }
}
