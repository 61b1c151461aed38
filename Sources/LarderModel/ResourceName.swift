/// The full name of a document: `projects/P/databases/D/documents/cities/SF`.
///
/// A reference value may hold any text; ``database`` and ``document`` are nil where it is not
/// the name of a document.
public struct ResourceName: Sendable, CustomStringConvertible {
    /// The whole name.
    public let string: String

    /// Takes a name as it is, without checking it.
    public init(_ string: String) {
        self.string = string
    }

    /// The name of a document of a database.
    public init(database: DatabaseID, document: DocumentPath) {
        string = "\(database)/documents/\(document.string)"
    }

    /// The database in the name; nil when the text is not a document's name.
    public var database: DatabaseID? { parts?.database }

    /// The document's path in the name; nil when the text is not a document's name.
    public var document: DocumentPath? { parts?.document }

    /// The whole name.
    public var description: String { string }

    private var parts: (database: DatabaseID, document: DocumentPath)? {
        let segments = string.utf8.split(
            separator: UInt8(ascii: "/"), maxSplits: 5, omittingEmptySubsequences: false
        ).map { String(Substring($0)) }
        guard segments.count == 6, segments[0] == "projects", segments[2] == "databases",
            segments[4] == "documents", !segments[1].isEmpty, !segments[3].isEmpty,
            let document = try? DocumentPath(segments[5])
        else { return nil }
        return (DatabaseID(project: segments[1], database: segments[3]), document)
    }
}

extension ResourceName: Hashable {
    /// Whether both names are the same bytes.
    public static func == (left: ResourceName, right: ResourceName) -> Bool {
        left.string.hasSameUTF8(as: right.string)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        string.hashUTF8(into: &hasher)
    }

    /// Firestore's order of references: segment by segment, by bytes, empty ones skipped,
    /// without the rule for numeric ids.
    package func order(to other: ResourceName) -> Int {
        let left = string.utf8.split(separator: UInt8(ascii: "/"))
        let right = other.string.utf8.split(separator: UInt8(ascii: "/"))
        for (l, r) in zip(left, right) {
            let order = l.byteOrder(to: r)
            if order != 0 { return order }
        }
        return left.count - right.count
    }
}
