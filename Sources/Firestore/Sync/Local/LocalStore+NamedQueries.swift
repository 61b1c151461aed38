package import LarderModel
import LarderQuery
import LarderStorage

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
            try transaction.putNamedValue(.query, query.name, payload, time: query.readTime)
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
            return try NamedQuery(name: name, payload: stored.payload, readTime: stored.time)
        }
    }
}
