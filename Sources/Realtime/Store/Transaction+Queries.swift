import CLarder
package import LarderRealtimeModel
package import LarderStorage

extension ReadableTransaction where Self: ~Copyable {
    /// The tracked queries of a tree, in the order of their numbers.
    ///
    /// Eviction removes queries that are not active together with their data: after a commit that
    /// evicted, those that are left.
    package func trackedQueries(in tree: TreeNumber) throws(LarderError) -> [TrackedQuery] {
        var queries: [TrackedQuery] = []
        var row = larder_node_query()
        row.struct_bytes = MemoryLayout<larder_node_query>.size
        while try call({
            larder_node_query_next(
                snapshot.reader, tree.rawValue, queries.last?.id.rawValue ?? 0, &row, $0)
        }) == .ok {
            queries.append(try TrackedQuery(row))
        }
        return queries
    }

    /// A tracked query; nil if it was removed or evicted.
    package func trackedQuery(_ id: TrackedQueryID, in tree: TreeNumber)
        throws(LarderError) -> TrackedQuery?
    {
        var row = larder_node_query()
        row.struct_bytes = MemoryLayout<larder_node_query>.size
        let status = try call {
            larder_node_query_get(snapshot.reader, tree.rawValue, id.rawValue, &row, $0)
        }
        return status == .ok ? try TrackedQuery(row) : nil
    }

    /// The union of the keys of some tracked queries; those that are not there have none.
    package func trackedKeys(of queries: some Sequence<TrackedQueryID>, in tree: TreeNumber)
        throws(LarderError) -> Set<ChildKey>
    {
        var keys: Set<ChildKey> = []
        let buffer = try NodeBuffer()
        for id in queries {
            keys.formUnion(try self.keys(of: id, in: tree, buffer))
        }
        return keys
    }

    fileprivate func keys(
        of id: TrackedQueryID, in tree: TreeNumber, _ buffer: borrowing NodeBuffer
    ) throws(LarderError) -> [ChildKey] {
        let reader = snapshot.reader
        let (keys, status) = try buffer.read({
            larder_node_query_keys(reader, tree.rawValue, id.rawValue, $0, $1)
        }) { reader throws(LarderError) in try reader.readKeys() }
        return status == .ok ? keys : []
    }
}

extension WriteTransaction {
    /// Adds a tracked query or replaces it; its tracked keys stay.
    ///
    /// Counts as a use.
    ///
    /// A query that is neither active nor pinned is evicted when it was not used for the longest time, with the
    /// data that no other query keeps. A complete filtered query keeps its tracked keys, any other
    /// one the whole content of its location.
    ///
    /// - Throws: `invalidArgument` if there is one of the same number at another location.
    package mutating func save(_ query: TrackedQuery, in tree: TreeNumber) throws(LarderError) {
        var row = larder_node_query()
        row.struct_bytes = MemoryLayout<larder_node_query>.size
        row.query_id = query.id.rawValue
        row.flags = query.storedFlags
        row.last_use = larder_time(milliseconds: query.lastUse)
        var payload: [UInt8] = []
        JSONWriter.append(query.payload, to: &payload)
        let writer = writer
        try call { failure in
            withBytes(query.query.path) { path in
                withBytes(payload) { payload in
                    row.path = path
                    row.payload = payload
                    return larder_node_query_put(writer, tree.rawValue, &row, failure)
                }
            }
        }
    }

    /// Removes a tracked query with its keys.
    ///
    /// The data stays until space is needed, unless another query keeps it.
    ///
    /// - Returns: true if it was there.
    @discardableResult
    package mutating func removeTrackedQuery(_ id: TrackedQueryID, in tree: TreeNumber)
        throws(LarderError) -> Bool
    {
        try call { larder_node_query_remove(writer, tree.rawValue, id.rawValue, $0) } == .ok
    }

    /// Notes a use of a tracked query.
    package mutating func touch(_ id: TrackedQueryID, in tree: TreeNumber) throws(LarderError) {
        try call { larder_node_query_touch(writer, tree.rawValue, id.rawValue, $0) }
    }

    /// Removes tracked keys of a query and adds others, in any order and also twice.
    ///
    /// - Throws: `notFound` if there is no such query.
    package mutating func changeTrackedKeys(
        of id: TrackedQueryID, adding added: some Sequence<ChildKey>,
        removing removed: some Sequence<ChildKey>, in tree: TreeNumber
    ) throws(LarderError) {
        let writer = writer
        let status = try call { failure in
            withBytes(removed) { removed in
                withBytes(added) { added in
                    larder_node_query_change_keys(
                        writer, tree.rawValue, id.rawValue, removed.baseAddress, removed.count,
                        added.baseAddress, added.count, failure)
                }
            }
        }
        guard status == .ok else {
            throw LarderError(status: status, domain: LarderError.realtimeDomain)
        }
    }

    /// Replaces the tracked keys of a query.
    ///
    /// - Throws: as ``changeTrackedKeys(of:adding:removing:in:)``.
    package mutating func setTrackedKeys(
        of id: TrackedQueryID, to keys: Set<ChildKey>, in tree: TreeNumber
    ) throws(LarderError) {
        let old = Set(try self.keys(of: id, in: tree, NodeBuffer()))
        try changeTrackedKeys(
            of: id, adding: keys.subtracting(old), removing: old.subtracting(keys), in: tree)
    }
}

extension larder_time {
    /// The time of milliseconds since the Unix epoch, or the nearest that the store can keep.
    fileprivate init(milliseconds: Int64) {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        let isNegative = rest < 0
        let whole = min(
            max(isNegative ? seconds - 1 : seconds, Timestamp.validSeconds.lowerBound),
            Timestamp.validSeconds.upperBound)
        self.init(
            seconds: whole,
            nanoseconds: Int32(isNegative ? rest + 1000 : rest) * 1_000_000, reserved: 0)
    }

    fileprivate var milliseconds: Int64 { seconds * 1000 + Int64(nanoseconds) / 1_000_000 }
}

extension TrackedQuery {
    fileprivate init(_ row: larder_node_query) throws(LarderError) {
        let path = TreePath(row.path.text)
        let parameters: QueryParameters
        var confirmed: Int64?
        do {
            let json = try JSONValue(parsing: row.payload.buffer)
            parameters = try QueryParameters(json: json)
            if case .integer(let time) = json[Self.confirmedName] { confirmed = time }
        } catch {
            throw LarderError(
                realtime: .dataLoss, "tracked query \(row.query_id) cannot be read",
                condition: .corrupt, cause: error)
        }
        self.init(
            TrackedQueryID(row.query_id), QuerySpec(path, parameters),
            lastUse: row.last_use.milliseconds,
            isComplete: row.flags & UInt32(LARDER_NODE_QUERY_COMPLETE) != 0,
            isActive: row.flags & UInt32(LARDER_NODE_QUERY_ACTIVE) != 0,
            isPinned: row.flags & UInt32(LARDER_NODE_QUERY_PINNED) != 0, confirmed: confirmed)
    }

    /// The name of the time of confirmation, beside those of the parameters.
    private static let confirmedName = "confirmed"

    /// The parameters and the time of confirmation.
    fileprivate var payload: JSONValue {
        guard let confirmed, case .object(let members) = query.parameters.json else {
            return query.parameters.json
        }
        return .object(members + [JSONMember(Self.confirmedName, .integer(confirmed))])
    }

    fileprivate var storedFlags: UInt32 {
        var flags = 0
        if isComplete { flags |= LARDER_NODE_QUERY_COMPLETE }
        if isActive { flags |= LARDER_NODE_QUERY_ACTIVE }
        if isPinned { flags |= LARDER_NODE_QUERY_PINNED }
        if isComplete && !query.isDefault { flags |= LARDER_NODE_QUERY_KEYED }
        return UInt32(flags)
    }
}
