import CLarder
package import LarderRealtimeModel
package import LarderStorage

extension WriteTransaction {
    /// Replaces the content of a location; an empty node deletes it.
    ///
    /// The path may end in `.priority`.
    ///
    /// Complexity: that of the new content. What it replaces is freed by this commit and later
    /// ones, some rows at a time.
    ///
    /// - Throws: `invalidArgument` for a key that no tree can have, a value that the server has
    ///   yet to compute, and content that is too deep or too large.
    package mutating func overwrite(_ path: TreePath, with node: Node, in tree: TreeNumber)
        throws(LarderError)
    {
        var writer = NodeWriter(capacity: node.estimatedSize)
        writer.append(node)
        try call { failure in
            withBytes(path) { path in
                withBytes(writer.bytes) {
                    larder_node_put(self.writer, tree.rawValue, path, $0, failure)
                }
            }
        }
    }

    /// Replaces the content of several places below a location, at relative paths of which none is
    /// an ancestor of another.
    ///
    /// Complexity: that of the new content; each row is written once.
    ///
    /// - Throws: as ``overwrite(_:with:in:)``, and `invalidArgument` if one of the paths contains
    ///   another.
    package mutating func merge(
        _ values: some Collection<PathValue>, at path: TreePath, in tree: TreeNumber
    ) throws(LarderError) {
        var writer = NodeWriter()
        var ends: [(path: Int, node: Int)] = []
        ends.reserveCapacity(values.count)
        for value in values {
            writer.append(textOf: value.path)
            let pathEnd = writer.bytes.count
            writer.append(value.node)
            ends.append((pathEnd, writer.bytes.count))
        }
        try call { failure in
            withBytes(path) { path in
                writer.bytes.withUnsafeBytes { bytes in
                    var start = 0
                    let changes = ends.map { end in
                        defer { start = end.node }
                        return larder_node_change(
                            path: larder_bytes(.init(rebasing: bytes[start..<end.path])),
                            node: larder_bytes(.init(rebasing: bytes[end.path..<end.node])))
                    }
                    return changes.withUnsafeBufferPointer {
                        larder_node_merge(
                            self.writer, tree.rawValue, path, $0.baseAddress, $0.count, failure)
                    }
                }
            }
        }
    }

    /// Replaces those children of a location that a node has; the others stay.
    ///
    /// - Throws: as ``overwrite(_:with:in:)``.
    package mutating func overwriteChildren(
        _ node: Node, at path: TreePath, in tree: TreeNumber
    ) throws(LarderError) {
        try merge(
            node.children.map { PathValue(TreePath([$0.key]), $0.node) }, at: path, in: tree)
    }

    /// Applies range merges of the server to a location.
    ///
    /// Complexity: that of the location's content to read, and of what differs to write.
    ///
    /// - Returns: the new content of the location.
    @discardableResult
    package mutating func apply(
        _ ranges: [RangeMerge], at path: TreePath, in tree: TreeNumber
    ) throws(LarderError) -> Node {
        let old = try node(at: path, in: tree)
        let new = ranges.reduce(old) { $1.applied(to: $0) }
        guard !old.isLeaf, !new.isLeaf, !new.isEmpty else {
            if old != new { try overwrite(path, with: new, in: tree) }
            return new
        }
        var changes: [PathValue] = []
        Node.forEachChangedChild(from: old, to: new) { key, _, child in
            changes.append(PathValue(TreePath([key]), child))
        }
        if old.priority != new.priority {
            changes.append(PathValue(TreePath([.priority]), Node(new.priority)))
        }
        if !changes.isEmpty { try merge(changes, at: path, in: tree) }
        return new
    }
}
