package import LarderDocumentStore
package import LarderModel
package import LarderRemote

/// How a client is opened.
package struct ClientConfiguration: Sendable {
    /// The store below it.
    package var storage: StoreConfiguration

    /// The project and database that references in documents name.
    package var databaseID: DatabaseID

    /// Whose pending writes are made and seen.
    package var user = UserID.unauthenticated

    /// Whether documents go as soon as no listener and no pending write needs them; for stores
    /// in memory.
    package var collectsEagerly = false

    /// The backend; nil for none.
    package var remote: (any Remote)?

    /// After so long without an answer the backend counts as away, until it answers, and reads and
    /// commits at the backend fail; see ``OnlineStateTracker``.
    package var answerTimeout = OnlineStateTracker.defaultTimeout

    /// Whether a backend that was away is still so for whoever asks next, until it is tried
    /// again; see ``OnlineStateTracker``.
    package var remembersOutages = false

    /// How often a write is sent before the engine gives up on it; nil for ever.
    package var maxWriteAttempts: Int?

    /// How many documents in limbo the backend is asked for at a time.
    package var maxConcurrentLimboResolutions = 100

    /// Threads, clocks and chance.
    package var scheduler: any Scheduler<EngineTimer> = QueueScheduler(
        label: "larder", errorDomain: LarderError.firestoreDomain)

    /// Asked before each operation on the store, which fails with what it throws; for tests.
    package var guarding: LocalStore.Guard?

    /// How the store is shared with other clients; nil for not at all, unless the storage's
    /// access is shared.
    package var sharing: Sharing?

    /// Whether indexes are made by themselves from the start; see `AutomaticIndexes`.
    package var makesIndexes = false

    /// The local clock, for the times of writes.
    package var clock: @Sendable () -> Timestamp = { Timestamp.now() }

    /// How a client opens a store of its own: of those that share one the primary evicts, which
    /// knows what all need.
    var ownStorage: StoreConfiguration {
        var own = storage
        own.errorDomain = LarderError.firestoreDomain
        if sharing != nil || storage.access == .shared { own.evictsAutomatically = false }
        return own
    }

    /// Whether documents go by themselves when the store is over its budget.
    var evictsWithinBudget: Bool {
        storage.evictsAutomatically && storage.budget != .unlimited
    }

    /// A client of a store, with the defaults for everything else.
    package init(storage: StoreConfiguration, databaseID: DatabaseID) {
        self.storage = storage
        self.databaseID = databaseID
    }
}

/// How a client shares its store with other clients, in this process or others.
///
/// One of them, the primary, has the network for all; the others read, write and listen through
/// the store. Clients of one store must all share it.
package struct Sharing: Sendable {
    /// What tells this client from others; never used again.
    package var clientID: String

    /// How clients hear of each other's commits; nil for a watch on the store's file, which the
    /// clients of several processes need.
    package var signal: (any StoreSignal)?

    /// Whether somebody looks at the client, who then is preferred as primary.
    package var isForeground: Bool

    /// A client with an id of its own.
    package init(
        clientID: String = Sharing.newClientID(), signal: (any StoreSignal)? = nil,
        isForeground: Bool = true
    ) {
        self.clientID = clientID
        self.signal = signal
        self.isForeground = isForeground
    }

    /// An id that no other client has.
    package static func newClientID() -> String {
        let digits = "0123456789abcdefghijklmnopqrstuvwxyz"
        return String((0..<20).compactMap { _ in digits.randomElement() })
    }
}
