import CLarder
package import LarderCore
package import LarderStorage

/// The number of rows that a tree has besides its nodes.
package struct TreeSummary: Hashable, Sendable {
    package let name: String
    /// The number of tracked queries, whose data is kept from eviction by recency of use.
    package let trackedQueryCount: Int
    /// The number of writes and transactions that wait for an answer of the server.
    package let pendingWriteCount: Int
    /// The number of writes that the server refused.
    package let refusedWriteCount: Int
}

extension ReadableTransaction where Self: ~Copyable {
    /// A summary of each tree, in the order in which they were made.
    ///
    /// Reads the rows of queries and writes, but does not decode them.
    package func treeSummaries() throws(LarderError) -> [TreeSummary] {
        var summaries: [TreeSummary] = []
        for (tree, name) in try trees() {
            summaries.append(
                TreeSummary(
                    name: name, trackedQueryCount: try trackedQueryCount(in: tree),
                    pendingWriteCount: try writeCount(LARDER_NODE_WRITE_PENDING, in: tree),
                    refusedWriteCount: try writeCount(LARDER_NODE_WRITE_REFUSED, in: tree)))
        }
        return summaries
    }

    private func trackedQueryCount(in tree: TreeNumber) throws(LarderError) -> Int {
        var count = 0
        var row = larder_node_query()
        row.struct_bytes = MemoryLayout<larder_node_query>.size
        while try call({
            larder_node_query_next(snapshot.reader, tree.rawValue, row.query_id, &row, $0)
        }) == .ok {
            count += 1
        }
        return count
    }

    private func writeCount(_ kind: Int, in tree: TreeNumber) throws(LarderError) -> Int {
        var count = 0
        var row = larder_node_write()
        row.struct_bytes = MemoryLayout<larder_node_write>.size
        while try call({
            larder_node_write_next(
                snapshot.reader, tree.rawValue, Int32(kind), row.write_id, &row, $0)
        }) == .ok {
            count += 1
        }
        return count
    }
}
