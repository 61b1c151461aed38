package import LarderDocumentStore
package import LarderModel
package import LarderRemote
// Modules that import the engine see the runtime that it is built on.
@_exported public import LarderRuntime

/// The configuration of a client.
package struct ClientConfiguration: Sendable {
    package var storage: StoreConfiguration

    /// The project and database of references in documents.
    package var databaseID: DatabaseID

    /// The user whose pending writes are applied and seen.
    package var user = UserID.unauthenticated

    /// Whether documents are evicted as soon as no listener and no pending write uses them; for
    /// stores in memory.
    package var collectsEagerly = false

    package var remote: (any Remote)?

    /// True for a local database: it has no remote, and a local commit is final.
    ///
    /// A store that was opened so stays local until it is opened with a remote.
    package var isLocal = false

    /// The handling of a local database's documents when it is opened with a remote; nil to refuse.
    package var localData: LocalData?

    /// True for a maintenance tool: opening the store does not change its role.
    package var isMaintenance = false

    /// The time without an answer after which the backend counts as unreachable, and reads and
    /// commits at the backend fail; see ``OnlineStateTracker``.
    package var answerTimeout = OnlineStateTracker.defaultTimeout

    /// Whether an outage is remembered for later requests, until the backend is tried again; see
    /// ``OnlineStateTracker``.
    package var remembersOutages = false

    /// Makes the names by which backends know a new store and this process: unique ones.
    package var makeName: @Sendable () -> String = { WriteToken.newName() }

    /// The collection of the markers by which a backend that does not keep the names of writes
    /// commits each once; nil for none.
    package var markerCollection: CollectionPath?

    /// The maximum number of attempts to send a write; nil for no limit.
    package var maxWriteAttempts: Int?

    /// The maximum number of documents in limbo that are resolved at a time.
    package var maxConcurrentLimboResolutions = 100

    package var scheduler: any Scheduler<EngineTimer> = QueueScheduler(
        label: "larder", errorDomain: LarderError.firestoreDomain)

    /// True if the writes of one commit make one snapshot; false if each makes its own.
    package var joinsSnapshotsOfCommit = false

    /// Called before each operation on the store; its error fails the operation; for tests.
    package var guarding: LocalStore.Guard?

    /// The sharing of the store with other clients; nil for none, unless the storage's access is
    /// shared.
    package var sharing: Sharing?

    /// The cache rules from the start; nil for those of the store.
    package var cacheRules: [CacheRule]?

    /// Whether indexes are created automatically from the start; see `AutomaticIndexes`.
    package var makesIndexes = false

    /// The clock for the times of writes.
    package var clock: @Sendable () -> Timestamp = { Timestamp.now() }

    /// The configuration of the client's own store: of several clients, the primary evicts, which
    /// knows the targets in use.
    var ownStorage: StoreConfiguration {
        var own = storage
        own.errorDomain = LarderError.firestoreDomain
        if sharing != nil || storage.access == .shared { own.evictsAutomatically = false }
        return own
    }

    /// Whether documents are evicted automatically when the store is over its budget.
    var evictsWithinBudget: Bool {
        storage.evictsAutomatically && storage.budget != .unlimited
    }

    package init(storage: StoreConfiguration, databaseID: DatabaseID) {
        self.storage = storage
        self.databaseID = databaseID
    }
}

/// The sharing of a store with other clients, in this process or others.
///
/// One of them, the primary, uses the network for all; the others read, write and listen through
/// the store. All clients of the store must share it.
package struct Sharing: Sendable {
    /// The client's unique id, never reused.
    package var clientID: String

    /// Wakes clients after each other's commits; nil to watch the store's file, as required across
    /// processes.
    package var signal: (any StoreSignal)?

    /// Whether the client is in the foreground; foreground clients are preferred as primary.
    package var isForeground: Bool

    package init(
        clientID: String = Sharing.newClientID(), signal: (any StoreSignal)? = nil,
        isForeground: Bool = true
    ) {
        self.clientID = clientID
        self.signal = signal
        self.isForeground = isForeground
    }

    /// A random id.
    package static func newClientID() -> String {
        let digits = "0123456789abcdefghijklmnopqrstuvwxyz"
        return String((0..<20).compactMap { _ in digits.randomElement() })
    }
}
