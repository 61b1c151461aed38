import CLarder
package import LarderRealtimeModel
package import LarderStorage

extension ReadableTransaction where Self: ~Copyable {
    /// The content of a location, which is read in parts: a large one is never encoded as a whole.
    ///
    /// - Parameters:
    ///   - compressor: what compresses the children; nil for none.
    ///   - partBytes: the size of a part in bytes; larger leaves are parts of their own.
    /// - Throws: `dataLoss` for a damaged row.
    package func largeNode(
        at path: TreePath, in tree: TreeNumber, _ compressor: ChildrenCompressor?,
        partBytes: Int = 4 << 20
    ) throws(LarderError) -> Node {
        // Rows are compressed, to about a quarter.
        guard try usage(at: path, in: tree).sizeBytes > partBytes / 4 else {
            return try node(at: path, in: tree, compressor)
        }
        var children = ChildrenBuilder(compressor)
        var priority = Priority.none
        var last: ChildKey?
        var hasMore = true
        while hasMore {
            var next: ChildKey?
            var page = larder_node_page()
            (page.keys_only, page.max_count) = (1, 1)
            (priority, hasMore) = try readPage(page, at: path, in: tree, after: last) {
                next = $0.key
            }
            guard let key = next else { break }
            if try usage(at: path.child(key), in: tree).sizeBytes > partBytes / 4 {
                let child = try largeNode(
                    at: path.child(key), in: tree, compressor, partBytes: partBytes)
                children.append(Child(key, child))
                last = key
            } else {
                page = larder_node_page()
                page.max_bytes = Int64(partBytes)
                (_, hasMore) = try readPage(page, at: path, in: tree, after: last, compressor) {
                    children.append($0)
                    last = $0.key
                }
            }
        }
        return children.node(priority: priority)
    }

    /// Reads a page of children.
    ///
    /// - Returns: the location's priority, and whether there are more children.
    private func readPage(
        _ page: larder_node_page, at path: TreePath, in tree: TreeNumber, after last: ChildKey?,
        _ compressor: ChildrenCompressor? = nil, _ body: (Child) -> Void
    ) throws(LarderError) -> (Priority, hasMore: Bool) {
        var page = page
        page.struct_bytes = MemoryLayout<larder_node_page>.size
        let reader = snapshot.reader
        let (priority, status) = try NodeBuffer().read(
            compressor: compressor,
            { into, failure in
                withBytes(path) { path in
                    withBytes(last?.text ?? "") { last in
                        page.after = last
                        return larder_node_read_page(
                            reader, tree.rawValue, path, &page, into, failure)
                    }
                }
            }
        ) { reader throws(LarderError) in try reader.readChildren(body) }
        return (priority, status == .more)
    }
}
