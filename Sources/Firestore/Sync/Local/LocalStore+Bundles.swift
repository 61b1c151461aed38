import LarderDocumentStore
package import LarderModel
package import LarderQuery
package import LarderRemote

extension LocalStore {
    /// Whether a bundle of the same id that is at least as new has been loaded.
    package func hasNewerBundle(than metadata: BundleMetadata) throws(LarderError) -> Bool {
        try store.read { (transaction) throws(LarderError) in
            guard let loaded = try transaction.namedValue(.bundle, metadata.id) else {
                return false
            }
            return loaded.version >= metadata.createTime
        }
    }

    /// Remembers that a bundle was loaded.
    package func save(_ metadata: BundleMetadata) throws(LarderError) {
        try begin(.loadBundle)
        try store.write { (transaction) throws(LarderError) in
            try transaction.putNamedValue(.bundle, metadata.id, [], version: metadata.createTime)
        }
    }

    /// Finds or makes the target that keeps a bundle's documents from eviction while it is
    /// pinned; it is never watched.
    package func allocateTarget(ofBundle id: String) throws(LarderError) -> TargetData {
        // The name is reserved, so that no application's query is for this collection.
        try allocateTarget(
            Query(.collection(CollectionPath(unchecked: "__bundle__/docs/\(id)"))).target)
    }

    /// Takes documents of a bundle into the cache, and those that exist into the bundle's target;
    /// one commit.
    ///
    /// A target that is no longer stored takes none.
    ///
    /// - Returns: the documents that have changed, as the user sees them.
    package func applyBundledDocuments(_ documents: [DocumentReading], targetID: Int32)
        throws(LarderError) -> [LocalViewChange]
    {
        try begin(.loadBundle)
        let builder = try RecordBuilder()
        return try commit { (transaction, shared) throws(LarderError) in
            if try transaction.target(targetID) != nil {
                try transaction.changeDocuments(
                    ofTarget: targetID, adding: documents.filter(\.exists).map(\.path))
            }
            let changes = try apply(
                documents, readTime: nil, in: &transaction, using: builder)
            shared?.note(changes.map(\.path))
            return changes
        }
    }

    /// Makes these the only documents of a target, if it is stored; one commit.
    package func setDocuments(_ documents: Set<DocumentPath>, ofTarget id: Int32)
        throws(LarderError)
    {
        try begin(.loadBundle)
        try store.write { (transaction) throws(LarderError) in
            guard try transaction.target(id) != nil else { return }
            try transaction.setDocuments(documents, ofTarget: id)
        }
    }
}

extension LocalStore {
    /// Keeps a query under its name; one commit.
    ///
    /// The target of the query takes the documents, and goes on from the read time, unless the
    /// backend has told of it since.
    ///
    /// - Parameters:
    ///   - query: the query.
    ///   - documents: the documents that the bundle lists for it.
    ///   - active: what is known of the query's target where it is active, which may be more
    ///     than is stored.
    /// - Returns: what is known of the target now; where it is active, this is the new knowledge.
    package func save(
        _ query: NamedQuery, documents: Set<DocumentPath>, active: TargetData? = nil
    ) throws(LarderError) -> TargetData {
        try begin(.loadBundle)
        let target = try EncodedTarget(query.query.target)
        let payload = try query.payload()
        return try store.write { (transaction) throws(LarderError) in
            try transaction.putNamedValue(.query, query.name, payload, version: query.readTime)
            var data = try transaction.allocate(target)
            if let active, active.id == data.id { data = active }
            guard query.readTime > data.snapshotVersion,
                let stored = try transaction.target(data.id)
            else { return data }
            data.resumeToken = []
            data.snapshotVersion = query.readTime
            try transaction.put(data, over: stored)
            try transaction.setDocuments(documents, ofTarget: data.id)
            return data
        }
    }

    /// The query of a name; nil when no bundle has brought one.
    ///
    /// - Throws: `dataLoss` for a damaged one; `failedPrecondition` for one that a newer version
    ///   kept.
    package func namedQuery(_ name: String) throws(LarderError) -> NamedQuery? {
        // The store has no values under other names.
        guard (1...BundleMetadata.maxNameBytes).contains(name.utf8.count) else { return nil }
        return try store.read { (transaction) throws(LarderError) in
            guard let stored = try transaction.namedValue(.query, name) else { return nil }
            return try NamedQuery(name: name, payload: stored.payload, readTime: stored.version)
        }
    }
}

/// A query that a bundle brought, under its name.
package struct NamedQuery: Sendable {
    /// The name.
    package let name: String
    /// The query.
    package let query: Query
    /// The snapshot of the backend that the bundle has the query's documents of.
    package let readTime: SnapshotVersion

    /// A query under a name.
    package init(name: String, query: Query, readTime: SnapshotVersion) {
        self.name = name
        self.query = query
        self.readTime = readTime
    }
}

/// Named queries as named values; the time is the read time, the payload a record:
///
///     version            1
///     target             the bytes of the query's target
///     last               whether its limit counts from the end
///     orders             how many of the orders were asked for
extension NamedQuery {
    private static let version: Int64 = 1

    /// The bytes under which the query is kept.
    func payload() throws(LarderError) -> [UInt8] {
        try Record([
            "version": .integer(Self.version), "target": .bytes(try query.target.encoded()),
            "last": .boolean(query.isLimitedToLast),
            "orders": .integer(Int64(query.explicitOrders.count)),
        ]).bytes
    }

    /// Reads what is kept under a name.
    ///
    /// - Throws: `dataLoss` for anything that is no query; `failedPrecondition` for one that a
    ///   newer version kept.
    init(name: String, payload: [UInt8], readTime: SnapshotVersion) throws(LarderError) {
        guard let fields = try? Record(validating: payload, maxBytes: .max).fields,
            fields["version"] == .integer(Self.version),
            case .bytes(let bytes)? = fields["target"],
            case .boolean(let isLast)? = fields["last"],
            case .integer(let orderCount)? = fields["orders"], orderCount >= 0
        else { throw .malformedNamedQuery }
        let target = try QueryTarget(decoding: bytes)
        guard var query = isLast ? target.queryLimitedToLast : target.query else {
            throw .malformedNamedQuery
        }
        query.explicitOrders = Array(query.explicitOrders.prefix(Int(orderCount)))
        guard query.target == target else { throw .malformedNamedQuery }
        self.init(name: name, query: query, readTime: readTime)
    }
}

extension LarderError {
    fileprivate static var malformedNamedQuery: LarderError {
        LarderError(.dataLoss, "a named query is malformed", condition: .corrupt)
    }
}
