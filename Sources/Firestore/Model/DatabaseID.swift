/// The project and the name of a database.
public struct DatabaseID: Sendable, CustomStringConvertible {
    /// The project's id.
    public let project: String

    /// The database's name in the project.
    public let database: String

    /// The name of a project's first database.
    public static let defaultDatabase = "(default)"

    /// The id of a project's database.
    public init(project: String, database: String = DatabaseID.defaultDatabase) {
        self.project = project
        self.database = database
    }

    /// The beginning of its resource names: `projects/P/databases/D`.
    public var description: String { "projects/\(project)/databases/\(database)" }
}

extension DatabaseID: Hashable {
    /// Whether project and database are the same bytes.
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
