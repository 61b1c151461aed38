import LarderDocumentStore
package import LarderModel
package import LarderQuery
package import LarderRemote

extension LocalStore {
    /// Whether a bundle of the same id and age, or a newer one, was loaded.
    package func hasNewerBundle(than metadata: BundleMetadata) throws(LarderError) -> Bool {
        try store.read { (transaction) throws(LarderError) in
            guard let loaded = try transaction.namedValue(.bundle, metadata.id) else {
                return false
            }
            return loaded.version >= metadata.createTime
        }
    }

    package func save(_ metadata: BundleMetadata) throws(LarderError) {
        try begin(.loadBundle)
        try store.write { (transaction) throws(LarderError) in
            try transaction.putNamedValue(.bundle, metadata.id, [], version: metadata.createTime)
        }
    }

    /// Finds or allocates the target that keeps a bundle's documents from eviction while it is
    /// pinned; it is never watched.
    package func allocateTarget(ofBundle id: String) throws(LarderError) -> TargetData {
        // The name is reserved, so that no application's query is for this collection.
        try allocateTarget(
            Query(.collection(CollectionPath(unchecked: "__bundle__/docs/\(id)"))).target)
    }

    /// Caches documents of a bundle, and adds those that exist to the bundle's target, in one
    /// commit.
    ///
    /// - Returns: the documents that have changed, as the user sees them.
    package func applyBundledDocuments(_ documents: [DocumentReading], targetID: Int32)
        throws(LarderError) -> [LocalChange]
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

    /// Replaces the documents of a target, if it is stored, in one commit.
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
    /// Stores a query under its name, in one commit.
    ///
    /// The query's target gets the documents, and resumes from the read time, unless the backend
    /// has sent a newer state.
    ///
    /// - Parameters:
    ///   - documents: the documents that the bundle lists for it.
    ///   - active: the state of the query's target if it is active, which may be newer than the
    ///     stored one.
    /// - Returns: the new state of the target.
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

    /// - Throws: `dataLoss` for a damaged query; `failedPrecondition` for one stored by a newer
    ///   version.
    package func namedQuery(_ name: String) throws(LarderError) -> NamedQuery? {
        // The store has no values under other names.
        guard (1...BundleMetadata.maxNameBytes).contains(name.utf8.count) else { return nil }
        return try store.read { (transaction) throws(LarderError) in
            guard let stored = try transaction.namedValue(.query, name) else { return nil }
            return try NamedQuery(name: name, payload: stored.payload, readTime: stored.version)
        }
    }
}

/// A named query of a bundle.
package struct NamedQuery: Sendable {
    package let name: String
    package let query: Query
    /// The snapshot of the query's documents.
    package let readTime: SnapshotVersion

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

    func payload() throws(LarderError) -> [UInt8] {
        try Record([
            "version": .integer(Self.version), "target": .bytes(try query.target.encoded()),
            "last": .boolean(query.isLimitedToLast),
            "orders": .integer(Int64(query.explicitOrders.count)),
        ]).bytes
    }

    /// - Throws: `dataLoss` for a damaged query; `failedPrecondition` for one stored by a newer
    ///   version.
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
