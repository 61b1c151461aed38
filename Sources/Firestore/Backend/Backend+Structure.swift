package import LarderModel
package import LarderPlanning
package import LarderQuery
package import LarderRemote
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
        try core.check(query, core.rulesCheck(.init()))
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
        try core.check(query, core.rulesCheck(.init()))
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

// MARK: - Descendants

/// A range of names in their order.
package struct DocumentNameRange: Sendable {
    /// An end of a range; the path need not be one that a document may have.
    package struct End: Sendable {
        let path: DocumentPath
        let isInclusive: Bool

        /// An end at a path.
        package init(_ path: DocumentPath, isInclusive: Bool) {
            self.path = path
            self.isInclusive = isInclusive
        }

        /// Whether another end lies behind this one.
        package func isBefore(_ other: End) -> Bool { path < other.path }
    }

    /// Where it begins; nil for the first name.
    package var lower: End?
    /// Where it ends; nil for the last name.
    package var upper: End?

    /// All names.
    package init() {}

    /// Whether a name is in the range.
    func contains(_ path: DocumentPath) -> Bool {
        if let lower, path < lower.path || !lower.isInclusive && path == lower.path {
            return false
        }
        if let upper, upper.path < path || !upper.isInclusive && path == upper.path {
            return false
        }
        return true
    }

    /// Whether a collection may have documents in the range.
    ///
    /// Its documents lie behind its own path, and before any that its path is before and is not
    /// the beginning of.
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

extension Backend {
    /// Lends documents of all collections below a document, or of all collections for nil, to
    /// a closure, in the order of their names, as of one commit, until it answers stop.
    ///
    /// Runs on the calling thread, and keeps the names of all documents in the range.
    ///
    /// - Parameters:
    ///   - parent: what they are below.
    ///   - isDirect: whether right below, and not at any depth.
    ///   - range: which names.
    ///   - credentials: who asks.
    ///   - began: told the version of the commit that is read, before the first document.
    ///   - body: called with each document.
    /// - Returns: the version of the commit that was read.
    /// - Throws: what the closures throw; `permissionDenied` where one may not be read.
    package func descendants(
        of parent: DocumentPath?, directly isDirect: Bool = false, in range: DocumentNameRange,
        as credentials: Credentials,
        began: (SnapshotVersion) throws(LarderError) -> Void,
        _ body: (Document) throws(LarderError) -> IterationStep
    ) throws(LarderError) -> SnapshotVersion {
        let rulesCheck = core.rulesCheck(credentials)
        return try core.read { (snapshot) throws(LarderError) in
            let version = try snapshot.commitVersion()
            try began(version)
            let prefix = parent.map { $0.string + "/" } ?? ""
            var options = ScanOptions()
            options.readsNamesOnly = true
            var paths: [DocumentPath] = []
            for collection in try snapshot.allCollections() where collection.documentCount > 0 {
                guard collection.path.string.utf8.starts(with: prefix.utf8),
                    !isDirect || collection.path.parent == parent,
                    range.mayContain(documentsOf: collection.path)
                else { continue }
                try snapshot.documents(in: .collection(collection.path), options: options) {
                    entry throws(LarderError) in
                    let path = entry.path
                    if range.contains(path) { paths.append(path) }
                    return .continue
                }
            }
            for path in paths.sorted() {
                guard let document = try snapshot.document(at: path), document.exists else {
                    continue
                }
                try rulesCheck.require(.get(path), existing: document)
                if try body(document) == .stop { break }
            }
            return version
        }
    }
}
