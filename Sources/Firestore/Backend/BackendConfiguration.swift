public import LarderModel
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

extension Backend {
    /// Decides on a request.
    ///
    /// Called on any thread, also on the backend's own: it must return soon, and not wait for
    /// the backend.
    public typealias Rules = @Sendable (Request) -> Decision

    /// What is done with a request.
    public enum Decision: Hashable, Sendable {
        /// It is served.
        case allow
        /// It fails with `permissionDenied`, and with this reason in the message.
        case deny(reason: String)
    }

    /// What a user asks for.
    public struct Request: Sendable {
        /// What is to be done.
        public enum Operation: Hashable, Sendable {
            /// One document is read or listened to.
            case get(DocumentPath)
            /// A collection is queried.
            case list(CollectionPath)
            /// All collections with an id are queried.
            case listGroup(String)
            /// A document is written that does not exist.
            case create(DocumentPath)
            /// A document is written that exists.
            case update(DocumentPath)
            /// A document is deleted.
            case delete(DocumentPath)
        }

        /// What is to be done.
        public let operation: Operation
        /// Who asks; empty for nobody who signed in.
        public let userID: String
        /// The document as it is, where the request is about one that exists.
        public let existing: Document?
        /// The fields that a write leaves; nil for other requests.
        public let written: Record?
    }
}

/// Asks a backend's rules in the name of a user.
struct RulesCheck: Sendable {
    let rules: Backend.Rules
    let userID: String

    /// Throws `permissionDenied` unless the rules allow an operation.
    func require(
        _ operation: Backend.Request.Operation, existing: Document? = nil, written: Record? = nil
    ) throws(LarderError) {
        let request = Backend.Request(
            operation: operation, userID: userID, existing: existing, written: written)
        if case .deny(let reason) = rules(request) {
            throw LarderError(.permissionDenied, "the rules deny it: \(reason)")
        }
    }
}
