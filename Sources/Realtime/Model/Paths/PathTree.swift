/// Values at some paths, as a tree of their keys.
///
/// No branch without values is kept. Access to a path costs its length, whatever lies beside it.
/// Its code is inlinable, so that other modules specialise it; the types in it are usable from
/// inlined code, without which they would not.
@usableFromInline package struct PathTree<Value: Sendable>: Sendable {
    /// The value at this place.
    @usableFromInline package internal(set) var value: Value?
    @usableFromInline var branches: [ChildKey: PathTree]

    /// A tree with at most the value of its root.
    @inlinable package init(_ value: Value? = nil) {
        self.value = value
        branches = [:]
    }

    /// A tree of the nodes that an update has.
    @inlinable package init(_ values: [PathValue]) where Value == Node {
        self.init()
        for value in values { self[value.path] = value.node }
    }

    /// A tree with a value at a path.
    @inlinable package init(_ value: Value, at path: TreePath) {
        self.init()
        self[path] = value
    }

    /// True without any value.
    @inlinable package var isEmpty: Bool { value == nil && branches.isEmpty }

    /// True if values lie below this place.
    @inlinable package var hasChildren: Bool { !branches.isEmpty }

    /// The count of children with values in them.
    @inlinable package var childCount: Int { branches.count }

    /// The keys of children with values in them, in no order.
    @inlinable package var keys: some Sequence<ChildKey> { branches.keys }

    /// The tree below a key; nil if it has no values.
    @inlinable package func child(_ key: ChildKey) -> PathTree? { branches[key] }

    /// The children in the order of their keys.
    @inlinable package var sortedChildren: [(key: ChildKey, tree: PathTree)] {
        branches.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The tree at and below a path; nil if it has no values.
    @inlinable package func subtree(at path: TreePath) -> PathTree? {
        var tree = self
        for key in path {
            guard let next = tree.branches[key] else { return nil }
            tree = next
        }
        return tree.isEmpty ? nil : tree
    }

    /// The tree as a branch of another that has it at a path.
    @inlinable package func moved(to path: TreePath) -> PathTree {
        path.reversed().reduce(self) { tree, key in
            var parent = PathTree()
            parent.branches[key] = tree
            return parent
        }
    }

    /// The value at a path.
    @inlinable package subscript(path: TreePath) -> Value? {
        get { subtree(at: path)?.value }
        set { update(at: path) { $0.value = newValue } }
    }
}

// MARK: - Changes

extension PathTree {
    /// Changes the value at this place.
    @inlinable package mutating func updateValue<Result>(_ change: (inout Value?) -> Result)
        -> Result
    {
        change(&value)
    }

    /// Changes the tree at a path, in place.
    @inlinable package mutating func update<Result>(
        at path: TreePath, _ change: (inout PathTree) -> Result
    ) -> Result {
        guard let key = path.first else { return change(&self) }
        return updateChild(key, at: path.dropFirst(), change)
    }

    /// Changes the tree below a key, in place.
    @inlinable package mutating func updateChild<Result>(
        _ key: ChildKey, _ change: (inout PathTree) -> Result
    ) -> Result {
        updateChild(key, at: .root, change)
    }

    @inlinable mutating func updateChild<Result>(
        _ key: ChildKey, at path: TreePath, _ change: (inout PathTree) -> Result
    ) -> Result {
        var isEmpty = false
        let result = branches[key, default: PathTree()].update(at: path, change, &isEmpty)
        if isEmpty { branches[key] = nil }
        return result
    }

    @inlinable mutating func update<Result>(
        at path: TreePath, _ change: (inout PathTree) -> Result, _ isEmpty: inout Bool
    ) -> Result {
        defer { isEmpty = self.isEmpty }
        return update(at: path, change)
    }

    /// Removes all values at and below a path.
    @inlinable package mutating func removeSubtree(at path: TreePath) {
        guard subtree(at: path) != nil else { return }
        update(at: path) { $0 = PathTree() }
    }
}

// MARK: - Traversal

extension PathTree {
    /// Calls a closure with each value on the way from the root to a path, both included, and
    /// with the count of components that lead to it, until the closure returns false.
    @inlinable package func visit(along path: TreePath, _ body: (Int, Value) -> Bool) {
        var tree = self
        for depth in 0...path.count {
            if let value = tree.value, !body(depth, value) { return }
            guard depth < path.count, let next = tree.branches[path[path.startIndex + depth]] else {
                return
            }
            tree = next
        }
    }

    /// True if there is a value at a path, on the way to it from the root, or below it.
    @inlinable package func hasValues(overlapping path: TreePath) -> Bool {
        var isOnWay = false
        visit(along: path) { _, _ in
            isOnWay = true
            return false
        }
        return isOnWay || subtree(at: path) != nil
    }

    /// The paths of all values, parents before their children, siblings in no order.
    @inlinable package var paths: [TreePath] {
        var paths: [TreePath] = []
        forEach { path, _ in paths.append(path) }
        return paths
    }

    /// Calls a closure with each value and its path, parents before their children, siblings in
    /// no order.
    @inlinable package func forEach(_ body: (TreePath, Value) -> Void) {
        forEach(below: .root, body)
    }

    /// The paths of values without another above them, in no order.
    @inlinable package var outermostPaths: [TreePath] {
        if value != nil { return [.root] }
        return branches.flatMap { key, branch in
            branch.outermostPaths.map { TreePath([key]).appending($0) }
        }
    }

    @inlinable func forEach(below path: TreePath, _ body: (TreePath, Value) -> Void) {
        if let value { body(path, value) }
        for (key, branch) in branches { branch.forEach(below: path.child(key), body) }
    }
}

extension PathTree: Equatable where Value: Equatable {}
