import CLarder
package import LarderRealtimeModel
package import LarderStorage

extension ReadableTransaction where Self: ~Copyable {
    /// The content of a location; empty where there is none.
    ///
    /// Complexity: that of its content; finding it takes a row for each level that is large.
    ///
    /// - Parameter compressor: what compresses the children of a large tree; nil for none.
    /// - Throws: `dataLoss` for a damaged row.
    package func node(
        at path: TreePath, in tree: TreeNumber, _ compressor: ChildrenCompressor? = nil
    ) throws(LarderError) -> Node {
        try node(compressor: compressor) { into, failure in
            withBytes(path) {
                larder_node_read(snapshot.reader, tree.rawValue, $0, into, failure)
            }
        }
    }

    /// A location with some of its children, and its priority; without those that are not there.
    ///
    /// Complexity: that of the children, wherever the others are many.
    package func children(
        _ keys: some Collection<ChildKey>, at path: TreePath, in tree: TreeNumber
    ) throws(LarderError) -> Node {
        if keys.isEmpty { return .empty }
        return try node { into, failure in
            withBytes(path) { path in
                withBytes(keys) { keys in
                    larder_node_read_children(
                        snapshot.reader, tree.rawValue, path, keys.baseAddress, keys.count, into,
                        failure)
                }
            }
        }
    }

    /// The children that a query selects, without the location's priority.
    ///
    /// Complexity: by key that of the window; by another index each row of the location is looked
    /// at once, but only the window is held in memory.
    package func window(of query: QuerySpec, in tree: TreeNumber) throws(LarderError) -> Node {
        guard let scan = WindowScan(query.parameters) else { return .empty }
        return try node { into, failure in
            withBytes(query.path) { path in
                scan.withCore {
                    larder_node_read_window(
                        snapshot.reader, tree.rawValue, path, $0, into, failure)
                }
            }
        }
    }

    /// Children from one key to another, in the order of their keys.
    ///
    /// - Parameters:
    ///   - path: the location.
    ///   - after: children above this key; nil from the first.
    ///   - before: children below this key; nil to the last.
    ///   - limit: the most children; nil for no limit.
    ///   - fromEnd: true for the last children of the range instead of the first.
    /// - Returns: the children, and whether the range has more.
    package func page(
        at path: TreePath, in tree: TreeNumber, after: ChildKey? = nil, before: ChildKey? = nil,
        limit: Int? = nil, fromEnd: Bool = false
    ) throws(LarderError) -> (node: Node, hasMore: Bool) {
        var page = larder_node_page()
        page.struct_bytes = MemoryLayout<larder_node_page>.size
        page.backwards = fromEnd ? 1 : 0
        page.max_count = Int64(limit ?? 0)
        if limit == 0 { return (.empty, true) }
        let reader = snapshot.reader
        let (node, status) = try NodeBuffer().read({ into, failure in
            withBytes(path) { path in
                withBytes(after?.text ?? "") { after in
                    withBytes(before?.text ?? "") { before in
                        page.after = after
                        page.before = before
                        return larder_node_read_page(
                            reader, tree.rawValue, path, &page, into, failure)
                    }
                }
            }
        }) { reader throws(LarderError) in try reader.readRest() }
        return (node, status == .more)
    }

    /// The count of a location's children; 0 for a leaf.
    ///
    /// Complexity: one step for each row of the location.
    package func childCount(at path: TreePath, in tree: TreeNumber) throws(LarderError) -> Int {
        var count: Int64 = 0
        try call { failure in
            withBytes(path) {
                larder_node_count(snapshot.reader, tree.rawValue, $0, &count, failure)
            }
        }
        return Int(count)
    }

    /// The rows that hold nothing but a location's content, and the bytes that they occupy.
    ///
    /// Small content lies in a row of a location above, and counts as none.
    package func usage(at path: TreePath, in tree: TreeNumber)
        throws(LarderError) -> (rowCount: Int, sizeBytes: Int)
    {
        var usage = larder_usage()
        try call { failure in
            withBytes(path) {
                larder_node_usage(snapshot.reader, tree.rawValue, $0, &usage, failure)
            }
        }
        return (Int(usage.row_count), Int(usage.size_bytes))
    }
}
