package import LarderModel
package import LarderStorage

/// How a backend is opened.
public struct BackendConfiguration: Sendable {
    /// Where a backend keeps its documents.
    public enum Location: Hashable, Sendable {
        /// In memory: nothing is left after closing.
        case memory
        /// In a directory of a local file system, which is made where there is none.
        case directory(String)
    }

    /// The project's id; the same as that of the clients.
    public var project: String

    /// The database's name in the project; the same as that of the clients.
    public var database = "(default)"

    /// Where the documents are kept.
    public var location: Location

    /// Who may do what; everybody everything unless said otherwise.
    public var rules: Backend.Rules = { _ in .allow }

    /// What a commit survives.
    package var durability = StoreConfiguration.Durability.everyCommit

    /// How many of the last commits are kept, so that they can be read again.
    package var historyCount = 0

    /// The clock that commit times follow.
    package var clock: @Sendable () -> Timestamp = { .now() }

    /// Where the backend works: it is given pieces of work, to run them one after the other in
    /// order; nil for a queue of its own.
    package var enqueue: (@Sendable (@escaping @Sendable () -> Void) -> Void)?

    /// Numbers that two backends do not have in common.
    package var makeIdentity: @Sendable () -> UInt64 = { .random(in: 0...UInt64.max) }

    /// A backend for a project, in memory unless said otherwise.
    public init(project: String, location: Location = .memory) {
        self.project = project
        self.location = location
    }

    var databaseID: DatabaseID { DatabaseID(project: project, database: database) }

    var storage: StoreConfiguration {
        var storage =
            switch location {
            case .memory: StoreConfiguration.inMemory()
            case .directory(let directory): StoreConfiguration(directory: directory)
            }
        storage.durability = durability
        return storage
    }
}
