/// The full name of a document: `projects/P/databases/D/documents/cities/SF`.
///
/// A reference value can contain any text; ``database`` and ``document`` are nil unless it is the
/// name of a document.
public struct ResourceName: Sendable, CustomStringConvertible {
    /// The whole name.
    public let string: String

    /// Adopts a name without validation.
    public init(_ string: String) {
        self.string = string
    }

    /// The name of a document of a database.
    public init(database: DatabaseID, document: DocumentPath) {
        string = database.documentsPrefix + document.string
    }

    /// The database in the name; nil if the text is not a document name.
    public var database: DatabaseID? { parts?.database }

    /// The document's path in the name; nil if the text is not a document name.
    public var document: DocumentPath? { parts?.document }

    /// The whole name.
    public var description: String { string }

    /// The database and the document in the name, parsed together; nil if the text is not a
    /// document name.
    package var parts: (database: DatabaseID, document: DocumentPath)? {
        var rest = string.utf8[...]
        guard rest.drop("projects/"), let project = rest.takeSegment(),
            rest.drop("databases/"), let database = rest.takeSegment(),
            rest.drop("documents/"), let document = try? DocumentPath(String(Substring(rest)))
        else { return nil }
        return (DatabaseID(project: project, database: database), document)
    }
}

extension ResourceName {
    /// The path of a document whose name is in a database; nil for other names.
    ///
    /// Parses only the path, unlike ``parts``.
    ///
    /// - Parameter beginning: ``DatabaseID/documentsPrefix`` of the database.
    package func document(after beginning: String) -> DocumentPath? {
        guard string.hasUTF8Prefix(beginning) else { return nil }
        return try? DocumentPath(String(Substring(string.utf8.dropFirst(beginning.utf8.count))))
    }
}

extension Substring.UTF8View {
    /// Removes a prefix; returns false without it.
    fileprivate mutating func drop(_ beginning: StaticString) -> Bool {
        let isThere = beginning.withUTF8Buffer { starts(with: $0) }
        if isThere { removeFirst(beginning.utf8CodeUnitCount) }
        return isThere
    }

    /// Removes and returns everything before the next slash, and removes the slash; nil if there is
    /// no slash or nothing before it.
    fileprivate mutating func takeSegment() -> String? {
        guard let slash = firstIndex(of: UInt8(ascii: "/")), slash > startIndex else { return nil }
        defer { self = self[index(after: slash)...] }
        return String(Substring(self[..<slash]))
    }
}

extension ResourceName: Hashable {
    /// True if both names have the same bytes.
    public static func == (left: ResourceName, right: ResourceName) -> Bool {
        left.string.hasSameUTF8(as: right.string)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        string.hashUTF8(into: &hasher)
    }
}

// MARK: - Databases

/// The project and name of a database.
public struct DatabaseID: Sendable, CustomStringConvertible {
    /// The project ID.
    public let project: String

    /// The database's name in the project.
    public let database: String

    /// The name of a project's first database.
    public static let defaultDatabase = "(default)"

    /// Creates the ID of a project's database.
    public init(project: String, database: String = DatabaseID.defaultDatabase) {
        self.project = project
        self.database = database
    }

    /// The prefix of its resource names: `projects/P/databases/D`.
    public var description: String { "projects/\(project)/databases/\(database)" }

    /// The beginning of the names of its documents: `projects/P/databases/D/documents/`.
    package var documentsPrefix: String { "\(self)/documents/" }
}

extension DatabaseID: Hashable {
    /// True if project and database have the same bytes.
    public static func == (left: DatabaseID, right: DatabaseID) -> Bool {
        left.project.hasSameUTF8(as: right.project)
            && left.database.hasSameUTF8(as: right.database)
    }

    /// Hashes project and database.
    public func hash(into hasher: inout Hasher) {
        project.hashUTF8(into: &hasher)
        database.hashUTF8(into: &hasher)
    }
}
