import CLarder
package import LarderRealtimeModel
package import LarderStorage

extension ReadableTransaction where Self: ~Copyable {
    /// The writes of a tree that wait to be sent, in the order of their numbers.
    ///
    /// - Parameters:
    ///   - id: those with a larger number only.
    ///   - limit: the most writes.
    package func pendingWrites(
        in tree: TreeNumber, after id: Int64 = 0, limit: Int = .max
    ) throws(LarderError) -> [StoredWrite] {
        let keys = KeyCache()
        return try rows(LARDER_NODE_WRITE_PENDING, in: tree, after: id, limit: limit) {
            (row) throws(LarderError) in
            try StoredWrite(
                row.write_id, at: row.timestamp, payload: row.payload.buffer, keys: keys)
        }
    }

    /// True if a client has a pending write whose number lies in a range.
    ///
    /// - Parameter client: the client's number; 0 for the only one.
    package func hasPendingWrite(
        in tree: TreeNumber, _ range: Range<Int64>, of client: Int64
    ) throws(LarderError) -> Bool {
        var write = larder_node_write()
        write.struct_bytes = MemoryLayout<larder_node_write>.size
        write.write_id = range.lowerBound - 1
        while try call({
            larder_node_write_next(
                snapshot.reader, tree.rawValue, Int32(LARDER_NODE_WRITE_PENDING), write.write_id,
                &write, $0)
        }) == .ok, range.contains(write.write_id) {
            if client == 0 || write.write_id & WriteRuns.clientMask == client { return true }
        }
        return false
    }

    /// The writes of a tree that were refused, in the order of their numbers.
    package func refusedWrites(in tree: TreeNumber) throws(LarderError) -> [RefusedWrite] {
        try rows(LARDER_NODE_WRITE_REFUSED, in: tree, after: 0, limit: .max) {
            (row) throws(LarderError) in
            try RefusedWrite(row.write_id, at: row.timestamp, payload: row.payload.buffer)
        }
    }

    /// The largest number that a pending write of the tree ever had; 0 for none.
    package func highestWriteID(in tree: TreeNumber) throws(LarderError) -> Int64 {
        var id: Int64 = 0
        try call { larder_node_write_highest_id(snapshot.reader, tree.rawValue, &id, $0) }
        return id
    }

    private func rows<Row>(
        _ kind: Int, in tree: TreeNumber, after id: Int64, limit: Int,
        _ make: (larder_node_write) throws(LarderError) -> Row
    ) throws(LarderError) -> [Row] {
        var rows: [Row] = []
        var write = larder_node_write()
        write.struct_bytes = MemoryLayout<larder_node_write>.size
        write.write_id = id
        while rows.count < limit,
            try call({
                larder_node_write_next(
                    snapshot.reader, tree.rawValue, Int32(kind), write.write_id, &write, $0)
            }) == .ok
        {
            rows.append(try make(write))
        }
        return rows
    }
}

extension WriteTransaction {
    /// Adds a write to those that wait, or replaces it.
    package mutating func savePending(_ write: StoredWrite, in tree: TreeNumber)
        throws(LarderError)
    {
        try put(LARDER_NODE_WRITE_PENDING, write.id, write.time, write.payload, in: tree)
    }

    /// Removes a write from those that wait.
    ///
    /// - Returns: true if it was there.
    @discardableResult
    package mutating func removePending(_ id: Int64, in tree: TreeNumber)
        throws(LarderError) -> Bool
    {
        try remove(LARDER_NODE_WRITE_PENDING, id, in: tree)
    }

    /// Removes all writes that wait.
    package mutating func removeAllPending(in tree: TreeNumber) throws(LarderError) {
        let writer = writer
        var write = larder_node_write()
        write.struct_bytes = MemoryLayout<larder_node_write>.size
        while try call({
            larder_node_write_next(
                writer, tree.rawValue, Int32(LARDER_NODE_WRITE_PENDING), 0, &write, $0)
        }) == .ok {
            try removePending(write.write_id, in: tree)
        }
    }

    /// Adds a write to those that were refused, or replaces it.
    package mutating func saveRefused(_ write: RefusedWrite, in tree: TreeNumber)
        throws(LarderError)
    {
        try put(
            LARDER_NODE_WRITE_REFUSED, write.write.id, write.time, write.payload, in: tree)
    }

    /// Removes a write from those that were refused.
    ///
    /// - Returns: true if it was there.
    @discardableResult
    package mutating func removeRefused(_ id: Int64, in tree: TreeNumber)
        throws(LarderError) -> Bool
    {
        try remove(LARDER_NODE_WRITE_REFUSED, id, in: tree)
    }

    private func put(
        _ kind: Int, _ id: Int64, _ time: Timestamp, _ payload: [UInt8], in tree: TreeNumber
    ) throws(LarderError) {
        var write = larder_node_write()
        write.struct_bytes = MemoryLayout<larder_node_write>.size
        write.write_id = id
        write.time = larder_time(
            seconds: time.seconds, nanoseconds: time.nanoseconds, reserved: 0)
        try call { failure in
            withBytes(payload) {
                write.payload = $0
                return larder_node_write_put(
                    writer, tree.rawValue, Int32(kind), &write, failure)
            }
        }
    }

    private func remove(_ kind: Int, _ id: Int64, in tree: TreeNumber)
        throws(LarderError) -> Bool
    {
        try call { larder_node_write_remove(writer, tree.rawValue, Int32(kind), id, $0) } == .ok
    }
}

extension larder_node_write {
    fileprivate var timestamp: Timestamp { Timestamp(unchecked: time.seconds, time.nanoseconds) }
}
