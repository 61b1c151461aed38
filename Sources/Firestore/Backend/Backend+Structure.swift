package import LarderCore
import LarderDocumentStore
package import LarderModel
package import LarderPlanning
package import LarderQuery
package import LarderRemote

/// The structure of collections, and plans of queries; bypasses the rules.
///
/// All methods read the newest commit on the calling thread.
extension Backend {
    /// The IDs of the collections below a document, or at the root for nil, that contain documents
    /// or have descendants.
    ///
    /// In order; linear in the number of collections.
    package func collectionIDs(below parent: DocumentPath?, asOf moment: SnapshotVersion = .none)
        throws(LarderError) -> [String]
    {
        try firstSegments(below: parent.map { $0.string + "/" } ?? "", moment) { !$0.isEmpty }.ids
    }

    /// The missing documents of a collection, which do not exist but have descendants, in order.
    ///
    /// Linear in the number of collections.
    package func missingDocuments(
        in collection: CollectionPath, asOf moment: SnapshotVersion = .none
    ) throws(LarderError) -> [DocumentPath] {
        let paths = try firstSegments(below: collection.string + "/", moment) { $0.count > 1 }.ids
            .map { (id) throws(LarderError) in try collection.document(id) }
        var missing: [DocumentPath] = []
        _ = try core.read(in: nil, asOf: moment) { (snapshot, _, _) throws(LarderError) in
            for path in paths {
                let state = try snapshot.withDocument(at: path) { $0.state }
                if state != .found { missing.append(path) }
            }
        }
        return missing.sorted()
    }

    /// The plan of a query, without running it.
    package func explain(_ query: Query) throws(LarderError) -> QueryExecution {
        try core.check(query, core.rulesCheck(.init()))
        return try core.read { (snapshot) throws(LarderError) in
            try core.runner.explain(query, in: snapshot)
        }
    }

    /// Runs a query and returns its results and execution.
    ///
    /// - Parameter memory: is charged for the results while the query runs.
    /// - Returns: the result and the version of the commit.
    package func analyze(_ query: Query, memory: MemoryAccount? = nil)
        throws(LarderError) -> (result: QueryResult, version: SnapshotVersion)
    {
        try core.check(query, core.rulesCheck(.init()))
        let memory = memory?.open()
        defer { memory?.close() }
        return try core.read { (snapshot) throws(LarderError) in
            let version = try snapshot.commitVersion()
            let floor = core.floor(at: version)
            let result = try core.runner.run(query, in: snapshot, charge: memory?.queryCharge)
            let documents = result.documents.map { $0.served(above: floor) }
            return (QueryResult(documents: documents, execution: result.execution), version)
        }
    }

    /// The documents of a query whose vectors are nearest to another one, and the version of the
    /// commit.
    ///
    /// A transaction depends on all documents of the query.
    ///
    /// - Parameter memory: is charged for the documents that are held.
    package func nearest(
        _ search: NearestSearch, of query: Query, as credentials: Credentials,
        in transaction: TransactionID? = nil, asOf moment: SnapshotVersion = .none,
        memory: MemoryAccount? = nil
    ) throws(LarderError) -> (result: NearestResult, version: SnapshotVersion) {
        try core.check(query, core.rulesCheck(credentials))
        let memory = memory?.open()
        defer { memory?.close() }
        var result: NearestResult?
        let version = try core.read(in: transaction, asOf: moment) {
            (snapshot, version, reads) throws(LarderError) in
            if transaction != nil {
                let all = try core.runner.run(query, in: snapshot, charge: memory?.queryCharge)
                reads.add(query, all.documents.map { .init(path: $0.path, version: $0.version) })
            }
            let found = try core.runner.nearest(
                search, of: query, in: snapshot, charge: memory?.queryCharge)
            let floor = core.floor(at: version)
            result = found.map { $0.served(above: floor) }
        }
        guard let result else { throw LarderError(.internal, "the read has no result") }
        return (result, version)
    }

    /// The first segments after a prefix in the paths of collections with documents, filtered by a
    /// closure on all segments after the prefix, in order.
    private func firstSegments(
        below prefix: String, _ moment: SnapshotVersion,
        where wanted: ([Substring.UTF8View]) -> Bool
    ) throws(LarderError) -> (ids: [String], version: SnapshotVersion) {
        var names: Set<String> = []
        let version = try core.read(in: nil, asOf: moment) {
            (snapshot, _, _) throws(LarderError) in
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

// MARK: - Descendants

package struct DocumentNameRange: Sendable {
    /// A bound of a range; the path need not be valid for a document.
    package struct End: Sendable {
        let path: DocumentPath
        let isInclusive: Bool

        package init(_ path: DocumentPath, isInclusive: Bool) {
            self.path = path
            self.isInclusive = isInclusive
        }

        /// True if another bound is greater.
        package func isBefore(_ other: End) -> Bool { path < other.path }
    }

    /// The lower bound; nil for none.
    package var lower: End?
    /// The upper bound; nil for none.
    package var upper: End?

    /// Creates a range of all names.
    package init() {}

    func contains(_ path: DocumentPath) -> Bool {
        if let lower, path < lower.path || !lower.isInclusive && path == lower.path {
            return false
        }
        if let upper, upper.path < path || !upper.isInclusive && path == upper.path {
            return false
        }
        return true
    }

    /// Whether a collection can have documents in the range.
    ///
    /// The documents of a collection sort after its path, and before every greater path that does
    /// not start with it.
    func mayContain(documentsOf collection: CollectionPath) -> Bool {
        if let lower, collection < CollectionPath(unchecked: lower.path.string),
            !lower.path.string.utf8.starts(with: "\(collection.string)/".utf8)
        {
            return false
        }
        if let upper, CollectionPath(unchecked: upper.path.string) < collection { return false }
        return true
    }
}

extension ReadTransaction {
    /// The names of the documents below a document, or of all collections for nil, in order: those at
    /// any depth, or in the direct subcollections.
    borrowing func descendants(
        of parent: DocumentPath?, directly isDirect: Bool, in range: DocumentNameRange
    ) throws(LarderError) -> [DocumentPath] {
        let prefix = parent.map { $0.string + "/" } ?? ""
        var options = ScanOptions()
        options.readsNamesOnly = true
        var paths: [DocumentPath] = []
        for collection in try allCollections() where collection.documentCount > 0 {
            guard collection.path.string.utf8.starts(with: prefix.utf8),
                !isDirect || collection.path.parent == parent,
                range.mayContain(documentsOf: collection.path)
            else { continue }
            try documents(in: .collection(collection.path), options: options) {
                entry throws(LarderError) in
                let path = entry.path
                if range.contains(path) { paths.append(path) }
                return .continue
            }
        }
        return paths.sorted()
    }
}
