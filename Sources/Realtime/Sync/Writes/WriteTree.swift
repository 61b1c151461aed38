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
    /// Adds a write after all others.
    package mutating func add(_ write: PendingWrite) {
        writes[write.id] = write
        for value in write.values {
            let entry = WriteEntry(id: write.id, node: value.node, isVisible: write.isVisible)
            index.update(at: value.path) { tree in
                tree.updateValue { entries in
                    if entries == nil { entries = WriteEntries() }
                    entries?.append(entry)
                }
            }
            if write.isVisible { visible.fold(value.node, at: value.path) }
        }
    }

    /// Removes a write.
    ///
    /// - Parameter isAccepted: true if the server has applied it. Then it is no longer behind
    ///   earlier writes that cover it, and becomes part of them.
    /// - Returns: where the visible content may be another now: the write's paths without those
    ///   that a later visible write covers. Nil if there are none.
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
            if let cover, cover.id > id { continue }
            if isAccepted, let cover {
                index.update(at: cover.path) { tree in
                    tree.updateValue {
                        let rest = value.path.dropFirst(cover.path.count)
                        $0?.update(cover.id) { $0 = $0.setting(rest, to: value.node) }
                    }
                }
            } else {
                affected[value.path] = true
                refold(at: value.path)
            }
        }
        return affected.isEmpty ? nil : affected
    }

    /// Removes all writes.
    ///
    /// - Returns: where the visible content may be another now; nil if that is nowhere.
    package mutating func removeAll() -> PathTree<Bool>? {
        var affected = PathTree<Bool>()
        visible.forEach { path, _ in affected[path] = true }
        self = WriteTree()
        return affected.isEmpty ? nil : affected
    }

    /// The last visible write of a node at a path or above it.
    private func lastVisible(covering path: TreePath) -> (id: WriteID, path: TreePath)? {
        var last: (id: WriteID, path: TreePath)?
        index.visit(along: path) { depth, entries in
            if let entry = entries.lastVisible, last.map({ $0.id < entry.id }) ?? true {
                last = (entry.id, path.prefix(depth))
            }
            return true
        }
        return last
    }
}

// MARK: - Folding

extension WriteTree {
    /// Folds the visible writes at and around a path again, after one was removed there.
    private mutating func refold(at path: TreePath) {
        var place = path
        if let depth = outermostVisible(along: path) {
            if let node = localNode(at: path, below: depth) {
                visible.fold(node, at: path)
                return
            }
            place = path.prefix(depth)
        }
        visible.removeSubtree(at: place)
        for entry in entries(atAndBelow: place, where: \.isVisible) {
            visible.fold(entry.node, at: entry.path)
        }
    }

    /// The depth of the outermost node written at a path or above it; nil if there is none.
    private func outermostVisible(along path: TreePath) -> Int? {
        var outermost: Int?
        index.visit(along: path) { depth, entries in
            if entries.lastVisible != nil { outermost = depth }
            return outermost == nil
        }
        return outermost
    }

    /// What visible writes make of a path that lies within a written node, if the nodes above the
    /// path are the same with and without the write that was removed.
    ///
    /// Nil if they may differ: the write may have replaced a leaf above, or kept a node from
    /// becoming empty and losing its priority.
    private func localNode(at path: TreePath, below outermost: Int) -> Node? {
        guard !path.isPriority else { return nil }
        var base: WriteEntry?
        var tree: PathTree<WriteEntries>? = index
        for depth in 0...path.count {
            guard let here = tree else { break }
            if let entry = here.value?.lastVisible {
                let rest = path.dropFirst(depth)
                guard entry.node.isPlain(along: rest) else { return nil }
                if base.map({ $0.id < entry.id }) ?? true {
                    base = WriteEntry(
                        id: entry.id, node: entry.node.node(at: rest), isVisible: true)
                }
            }
            guard depth < path.count else { break }
            if depth >= outermost, here.child(.priority) != nil { return nil }
            tree = here.child(path[path.startIndex + depth])
        }
        return base.map { base in
            entries(below: path) { $0.isVisible && $0.id > base.id }.reduce(base.node) {
                $0.setting($1.path.dropFirst(path.count), to: $1.node)
            }
        }
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
