package import LarderCore
package import LarderDocumentStore
public import LarderModel

/// The configuration of a backend.
public struct BackendConfiguration: Sendable {
    /// The location of a backend's documents.
    public enum Location: Hashable, Sendable {
        /// In memory; lost when the backend is closed.
        case memory
        /// In a directory of a local file system, which is created if it does not exist.
        case directory(String)
    }

    /// The project ID, which must match that of the clients.
    public var project: String

    /// The database ID within the project, which must match that of the clients.
    public var database = "(default)"

    /// The location of the documents.
    public var location: Location

    /// The maximum size of a document in bytes, as Firestore counts it; at most 16 MiB.
    public var maxDocumentBytes = 1_048_576

    /// The security rules; by default everything is allowed.
    public var rules: Backend.Rules = { _ in .allow }

    package var durability = StoreConfiguration.Durability.everyCommit

    /// The largest number of recent commits retained for reads in the past, each by a reader of the
    /// store.
    package var historyCount = 0

    /// The size of the data that only retained commits may contain, about.
    package var historyBytes: Int64 = 64 << 20

    /// The address space to reserve, beyond which the map grows; nil for the store's default.
    package var mapBytes: UInt64?

    /// Counts the memory that transactions occupy; nil for no limit.
    package var ledger: MemoryLedger?

    /// The clock for commit times.
    package var clock: @Sendable () -> Timestamp = { .now() }

    /// The serial executor of the backend's work; nil for a dispatch queue.
    package var enqueue: (@Sendable (@escaping @Sendable () -> Void) -> Void)?

    /// Generates unique numbers.
    package var makeIdentity: @Sendable () -> UInt64 = { .random(in: 0...UInt64.max) }

    /// Creates the configuration of a backend for a project, in memory by default.
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
        storage.maxDocumentBytes = Int64(maxDocumentBytes)
        // The documents cannot be fetched from anywhere else: an operator decides.
        storage.recovery = .fail
        storage.mapBytes = mapBytes
        storage.maxReaders += historyCount
        return storage
    }
}

extension Backend {
    /// Decides whether a request is allowed.
    ///
    /// Called on any thread, including the backend's: it must return quickly and must not wait for
    /// the backend.
    public typealias Rules = @Sendable (Request) -> Decision

    /// The decision about a request.
    public enum Decision: Hashable, Sendable {
        /// The request is allowed.
        case allow
        /// The request fails with `permissionDenied` and a message with this reason.
        case deny(reason: String)
    }

    /// A request to be authorized.
    public struct Request: Sendable {
        /// The requested operation.
        public enum Operation: Hashable, Sendable {
            /// Reading or listening to a document.
            case get(DocumentPath)
            /// Querying a collection.
            case list(CollectionPath)
            /// Querying all collections with an ID.
            case listGroup(String)
            /// Writing a document that does not exist.
            case create(DocumentPath)
            /// Writing a document that exists.
            case update(DocumentPath)
            /// Deleting a document.
            case delete(DocumentPath)
        }

        /// The requested operation.
        public let operation: Operation
        /// The user ID; empty if no user is signed in.
        public let userID: String
        /// The existing document of the request, if any.
        public let existing: Document?
        /// The fields after a write; nil for other requests.
        public let written: Record?
    }
}

/// Checks a user's operations against the rules.
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
