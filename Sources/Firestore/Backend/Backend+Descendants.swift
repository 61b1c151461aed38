package import LarderModel
package import LarderRemote
import LarderStorage

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
        let gate = core.gate(credentials)
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
                try gate.check(.get(path), existing: document)
                if try body(document) == .stop { break }
            }
            return version
        }
    }
}
