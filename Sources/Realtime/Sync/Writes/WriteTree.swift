package import LarderRealtimeModel

/// The writes that the server has not acknowledged, in the order in which they were made.
///
/// Two structures, both by path, beside the writes themselves: `index` has each node that was
/// written where it was written, in the order of the writes; `visible` has the visible ones folded
/// into what views show. An operation costs the depth of its paths and the writes below them,
/// whatever else is pending.
package struct WriteTree: Sendable {
    private var writes: [WriteID: PendingWrite] = [:]
    private(set) var index = PathTree<WriteEntries>()
    private var visible = PathTree<Node>()
    /// The largest number that a write ever had.
    private var lastID = WriteID(.min)

    package init() {}

    /// The count of pending writes.
    package var count: Int { writes.count }

    /// The pending writes in their order.
    ///
    /// Complexity: O(n log n).
    package var pending: [PendingWrite] { writes.values.sorted { $0.id < $1.id } }

    /// A pending write; nil if there is none of that number.
    package subscript(id: WriteID) -> PendingWrite? { writes[id] }

    /// The visible writes at and below the root.
    var visibleWrites: VisibleWrites { VisibleWrites(visible) }
}

// MARK: - Adding and removing

extension WriteTree {
    /// Makes room for a number of writes.
    package mutating func reserveCapacity(_ count: Int) {
        writes.reserveCapacity(count)
    }

    /// Adds a write in the order of its number, in place of one that has it already.
    ///
    /// - Returns: nil for a write after all others, whose nodes are the visible content; otherwise
    ///   where the visible content may be another now.
    @discardableResult
    package mutating func add(_ write: PendingWrite) -> PathTree<Bool>? {
        guard write.id > lastID else { return insert(write) }
        lastID = write.id
        addEntries(of: write)
        if write.isVisible {
            for value in write.values { visible.fold(value.node, at: value.path) }
        }
        return nil
    }

    /// Adds a write before others.
    private mutating func insert(_ write: PendingWrite) -> PathTree<Bool> {
        var affected = remove(write.id, isAccepted: false) ?? PathTree()
        addEntries(of: write)
        if write.isVisible {
            for value in write.values { affected[refold(at: value.path)] = true }
        }
        return affected
    }

    private mutating func addEntries(of write: PendingWrite) {
        writes[write.id] = write
        for value in write.values {
            let entry = WriteEntry(
                id: write.id, node: value.node, isVisible: write.isVisible,
                isForeign: write.isForeign)
            index.update(at: value.path) { tree in
                tree.updateValue { entries in
                    if entries == nil { entries = WriteEntries() }
                    entries?.add(entry)
                }
            }
        }
    }

    /// Removes a write.
    ///
    /// - Parameter isAccepted: true if the server has applied it. Then it is no longer behind
    ///   earlier writes that cover it, and becomes part of them.
    /// - Returns: where the visible content may be another now; nil if that is nowhere.
    package mutating func remove(_ id: WriteID, isAccepted: Bool) -> PathTree<Bool>? {
        guard let write = writes.removeValue(forKey: id) else { return nil }
        // All entries are removed before the first place is folded again.
        for value in write.values {
            index.update(at: value.path) { tree in
                tree.updateValue { entries in
                    entries?.remove(id)
                    if entries?.isEmpty == true { entries = nil }
                }
            }
        }
        guard write.isVisible else { return nil }
        var affected = PathTree<Bool>()
        for value in write.values {
            let cover = lastVisible(covering: value.path)
            if let cover, cover.entry.id > id, isAccepted || isPlain(above: cover.path) {
                continue
            }
            if isAccepted, let cover {
                absorb(value, into: cover.entry.id, at: cover.path)
            } else {
                affected[refold(at: value.path)] = true
            }
        }
        return affected.isEmpty ? nil : affected
    }

    /// Makes an accepted value part of an earlier write that covers it.
    private mutating func absorb(_ value: PathValue, into id: WriteID, at path: TreePath) {
        let rest = value.path.dropFirst(path.count)
        index.update(at: path) { tree in
            tree.updateValue { $0?.update(id) { $0 = $0.setting(rest, to: value.node) } }
        }
    }

    /// Removes all writes.
    ///
    /// - Returns: where the visible content may be another now; nil if that is nowhere.
    package mutating func removeAll() -> PathTree<Bool>? {
        var affected = PathTree<Bool>()
        visible.forEach { path, _ in affected[path] = true }
        let lastID = lastID
        self = WriteTree()
        self.lastID = lastID
        return affected.isEmpty ? nil : affected
    }
}

// MARK: - Folding

extension WriteTree {
    /// Folds the visible writes at and around a path again, after one was removed there.
    ///
    /// - Returns: where the visible content may be another now.
    private mutating func refold(at path: TreePath) -> TreePath {
        guard let outermost = outermostVisible(along: path) else {
            rebuild(at: path)
            return path
        }
        guard !path.isPriority, isPlain(above: path), let cover = lastVisible(covering: path) else {
            rebuild(at: outermost)
            return outermost
        }
        let base = cover.entry.node.node(at: path.dropFirst(cover.path.count))
        let later = entries(below: path, after: cover.entry.id, where: \.isVisible)
        visible.fold(
            later.reduce(base) {
                $0.setting($1.value.path.dropFirst(path.count), to: $1.value.node)
            }, at: path)
        return path
    }

    /// Folds the visible writes at and below a path again, which none above it covers: the last one
    /// at the path, which replaces all earlier ones, and those after it.
    private mutating func rebuild(at path: TreePath) {
        visible.removeSubtree(at: path)
        let last = index[path]?.lastVisible
        if let last { visible.fold(last.node, at: path) }
        for entry in entries(below: path, after: last?.id, where: \.isVisible) {
            visible.fold(entry.value.node, at: entry.value.path)
        }
    }

    /// The outermost path at or above another that a visible write has a node for.
    private func outermostVisible(along path: TreePath) -> TreePath? {
        var outermost: TreePath?
        index.visit(along: path) { depth, entries in
            if entries.lastVisible != nil { outermost = path.prefix(depth) }
            return outermost == nil
        }
        return outermost
    }

    /// The last visible node that was written at a path or above it.
    private func lastVisible(
        covering path: TreePath
    ) -> (entry: WriteEntry, path: TreePath)? {
        var last: (entry: WriteEntry, path: TreePath)?
        index.visit(along: path) { depth, entries in
            if let entry = entries.lastVisible, last.map({ $0.entry.id < entry.id }) ?? true {
                last = (entry, path.prefix(depth))
            }
            return true
        }
        return last
    }

    /// True if the visible nodes above a path are the same whatever was written at and below it.
    ///
    /// They may differ if one of them is a leaf, which a write below replaces, or has a priority,
    /// which it loses with its last child.
    private func isPlain(above path: TreePath) -> Bool {
        var isPlain = true
        var isWritten = false
        var tree: PathTree<WriteEntries>? = index
        for depth in 0..<path.count {
            guard let here = tree, isPlain else { break }
            if let entry = here.value?.lastVisible {
                isPlain = entry.node.isPlain(along: path.dropFirst(depth))
                isWritten = true
            }
            if isWritten, here.child(.priority) != nil { isPlain = false }
            tree = here.child(path[path.startIndex + depth])
        }
        return isPlain
    }
}

extension Node {
    /// True if no node above the end of a path is a leaf or has a priority.
    fileprivate func isPlain(along path: TreePath) -> Bool {
        var node = self
        for key in path {
            if node.isLeaf || node.priority != .none { return false }
            node = node.child(key)
        }
        return true
    }
}
