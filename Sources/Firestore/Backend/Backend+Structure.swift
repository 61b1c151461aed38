package import LarderModel
package import LarderPlanning
package import LarderQuery
import LarderRemote
import LarderStorage

/// What there is below a document or in a collection, and how queries are answered; rules do not
/// count.
///
/// All of it reads the newest commit on the calling thread.
extension Backend {
    /// The ids of the collections below a document, or at the root for nil, that have documents
    /// or have documents somewhere below.
    ///
    /// In order. Linear in the number of collections.
    package func collectionIDs(below parent: DocumentPath?, asOf moment: SnapshotVersion = .none)
        throws(LarderError) -> [String]
    {
        try firstSegments(below: parent.map { $0.string + "/" } ?? "", moment) { !$0.isEmpty }.ids
    }

    /// The documents of a collection that do not exist but have documents below, in order.
    ///
    /// Linear in the number of collections.
    package func missingDocuments(
        in collection: CollectionPath, asOf moment: SnapshotVersion = .none
    ) throws(LarderError) -> [DocumentPath] {
        let paths = try firstSegments(below: collection.string + "/", moment) { $0.count > 1 }.ids
            .map { (id) throws(LarderError) in try collection.document(id) }
        var missing: [DocumentPath] = []
        _ = try core.read(in: nil, asOf: moment) { (snapshot, _, _, _) throws(LarderError) in
            for path in paths {
                let state = try snapshot.withDocument(at: path) { $0.state }
                if state != .found { missing.append(path) }
            }
        }
        return missing.sorted()
    }

    /// The plan that a query is answered by, without running it.
    package func explain(_ query: Query) throws(LarderError) -> QueryExecution {
        try core.check(query, core.gate(.init()))
        return try core.read { (snapshot) throws(LarderError) in
            try core.runner.explain(query, in: snapshot)
        }
    }

    /// What a query finds, and how it was found.
    ///
    /// - Returns: the result, and the version of the commit that it is of.
    package func analyze(_ query: Query)
        throws(LarderError) -> (result: QueryResult, version: SnapshotVersion)
    {
        try core.check(query, core.gate(.init()))
        return try core.read { (snapshot) throws(LarderError) in
            (try core.runner.run(query, in: snapshot), try snapshot.commitVersion())
        }
    }

    /// The first segments behind a beginning of the paths of collections with documents, where
    /// the segments behind it are as a closure wants, in order.
    private func firstSegments(
        below prefix: String, _ moment: SnapshotVersion,
        where wanted: ([Substring.UTF8View]) -> Bool
    ) throws(LarderError) -> (ids: [String], version: SnapshotVersion) {
        var names: Set<String> = []
        let version = try core.read(in: nil, asOf: moment) {
            (snapshot, _, _, _) throws(LarderError) in
            try snapshot.collections { info in
                let path = info.path.string.utf8
                if info.documentCount > 0, path.starts(with: prefix.utf8) {
                    let rest = path.dropFirst(prefix.utf8.count)
                        .split(separator: UInt8(ascii: "/"))
                    if wanted(rest), let first = rest.first {
                        names.insert(String(Substring(first)))
                    }
                }
                return .continue
            }
        }
        return (names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }, version)
    }
}
