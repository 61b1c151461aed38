package import LarderModel

/// A database, and what the names of its resources begin with.
package struct DatabaseNames: Sendable {
    /// The database.
    package let id: DatabaseID
    /// What the names of all documents begin with: `projects/P/databases/D/documents/`.
    let documentsPrefix: String

    /// The names of a database.
    package init(_ id: DatabaseID) {
        self.id = id
        documentsPrefix = "\(id)/documents/"
    }

    /// Whether a name is that of the database, of its documents, or of a resource below these: what
    /// ``LarderModel/DatabaseID/init(ofResource:)`` takes for a name of it.
    package func include(_ name: String) -> Bool {
        let missing = documentsPrefix.utf8.count - name.utf8.count
        return missing <= 0
            ? name.hasUTF8Prefix(documentsPrefix)
            : (missing == 1 || missing == Self.suffixCount) && documentsPrefix.hasUTF8Prefix(name)
    }

    /// Whether a name is that of the database.
    func isDatabase(_ name: String) -> Bool {
        name.utf8.count + Self.suffixCount == documentsPrefix.utf8.count
            && documentsPrefix.hasUTF8Prefix(name)
    }

    private static let suffixCount = "/documents/".utf8.count
}
