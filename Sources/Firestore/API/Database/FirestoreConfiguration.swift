public import Dispatch
import LarderApp
import LarderDocumentStore
public import LarderModel
public import LarderRemote
import LarderSync
public import Logging

/// Configures a database opened with ``Firestore/init(configuration:)``.
///
/// ```swift
/// let configuration = FirestoreConfiguration(directory: "/var/lib/shop/larder")
/// let db = try Firestore(configuration: configuration)
/// ```
public struct FirestoreConfiguration: Sendable {
    /// The storage of the documents.
    public enum Storage: Hashable, Sendable {
        /// In a directory of a local file system.
        case directory(String)
        /// In memory; deleted by ``Firestore/terminate(completion:)``.
        case memory
        /// In memory, keeping only documents that a listener or a pending write needs.
        case memoryWithoutUnused
    }

    /// The access to the store, for this process and others.
    public enum Access: Hashable, Sendable {
        /// Read and write; other processes can open the store only for reading.
        case readWrite
        /// Read only; another process may be writing. The store must exist.
        case readOnly
        /// Read and write, shared with other processes on this machine.
        ///
        /// Every process reads, writes and listens. One of them uses the network for all; if it
        /// exits or dies, another takes over within 5 seconds.
        case shared
    }

    /// The maximum size of a document in bytes, as Firestore counts it: from 1 KiB to 16 MiB, 1 MiB
    /// by default.
    ///
    /// Larger documents are accepted by backends of Firestore's Enterprise edition. A listener whose
    /// results contain a larger document ends with the error `resourceExhausted`.
    public var maxDocumentBytes = 1_048_576

    /// The failures that a locally committed write survives.
    public enum Durability: Hashable, Sendable {
        /// Every commit is on disk when it is reported and survives a power failure.
        case everyCommit
        /// Every commit survives the end of the process. After a power failure the store is intact,
        /// but the last commit may be missing. Costs what ``everyCommit`` does: one disk flush.
        case lastCommitAtRisk
    }

    /// The automatic repair of a store that is damaged or cannot be written when it is opened; it is
    /// logged.
    ///
    /// A store that was not closed is recovered from the write-ahead log in any case.
    public enum Recovery: Hashable, Sendable {
        /// Opening fails.
        case fail
        /// Without room or the right to write, the store is opened for reading only.
        case readOnly
        /// As ``readOnly``; and the files of a damaged store are moved, as they are, to a directory
        /// `damaged-TIME` in the store's directory. A new store has everything that can be read of
        /// them, pending writes first.
        case quarantine
    }

    /// The store size above which unpinned documents are evicted.
    public enum CacheSize: Hashable, Sendable {
        /// Evicts nothing.
        case unlimited
        /// A size in bytes, at least 1 MiB.
        case bytes(Int64)
    }

    /// The time that gets and first snapshots wait for an unresponsive backend before they fall
    /// back to the cache, and that reads and commits of transactions wait before they fail.
    ///
    /// Applies to connections that cannot be established and to open connections on which a request
    /// stays unanswered. A connection that has answered before and a transaction get at least one
    /// second, so that a slow response is not mistaken for an outage.
    public enum ServerWait: Hashable, Sendable {
        /// Until a connection attempt fails, at most 10 seconds; the wait starts again for a
        /// request made after an idle period.
        ///
        /// An offline client may wait for each of several consecutive gets.
        case likeFirebase
        /// Until a connection attempt fails, at most for this duration; not at all between a failed
        /// attempt and the next one.
        ///
        /// With zero, nothing that the cache can answer waits.
        case atMost(Duration)
    }

    /// Which writes a snapshot shows together.
    public enum SnapshotGrouping: Hashable, Sendable {
        /// Each write, or each batch, has a snapshot of its own, also where writes share a commit.
        case eachWrite
        /// Writes that share a commit have one snapshot: fewer calls while many writes are applied.
        case eachCommit
    }

    /// The handling of a local database's documents when it is opened with a backend.
    public enum LocalData: Hashable, Sendable {
        /// Each document is queued as a write that sets it, which replaces the backend's document of
        /// that name.
        ///
        /// Nothing is deleted at the backend. Documents of collections that are local only by the
        /// cache rules stay so.
        case push
        /// The collections that have documents stay in the store alone: they become local only by
        /// the cache rules of the store, those of their paths or groups.
        ///
        /// While the configuration has this value, rules of the store that are local only stay in
        /// force, also if ``FirestoreConfiguration/cacheRules`` has others. Not available for
        /// ``Access/shared``.
        case keepLocal
    }

    /// The storage of the documents.
    public var storage: Storage

    /// The project ID, which is part of document references.
    public var project = FirebaseOptions.placeholderProjectID

    /// The database ID within the project.
    public var database = DatabaseID.defaultDatabase

    /// The backend that the database synchronizes with; nil for none.
    ///
    /// Without a backend the database behaves like an offline client, and writes stay pending,
    /// unless it is local (``isLocal``).
    public var backend: RemoteConnection?

    /// Creates the connection when the database opens, if ``backend`` is nil.
    ///
    /// If something is missing, such as credentials, opening fails.
    public var connector: RemoteConnector?

    /// True if the database is local: it has no backend, and a local commit is final.
    ///
    /// Nothing is pending or queued: `hasPendingWrites` is false, completion handlers are called
    /// after the commit, and a precondition that does not hold fails the write. The store is the
    /// source of truth: `isFromCache` is false, a document that is not there does not exist, and
    /// reads, aggregations, transactions and bulk writers that ask for the server are answered by
    /// the store. Nothing is evicted: ``cacheSize`` does not apply, and cache rules that evict are
    /// `invalidArgument`, as are a backend and ``Storage/memoryWithoutUnused``.
    ///
    /// A store that was opened so is a local database until it is opened with a backend, also
    /// without this property. One that was opened otherwise before becomes one: its pending writes
    /// are made final in their order, and those whose preconditions do not hold become dead letters
    /// (``Firestore/deadLetters()``).
    public var isLocal = false

    /// The handling of a local database's documents when it is opened with a backend.
    ///
    /// With nil, opening it with a backend fails with `failedPrecondition` if it has documents. No
    /// effect on other stores.
    public var localData: LocalData?

    /// The backend's host for ``connector``; nil for the connector's default.
    var host: String?

    /// Whether connections to ``host`` are encrypted.
    var isSSLEnabled = true

    /// True for the shared database of a `FirebaseApp`: it logs a note if it opens without the backend
    /// that the application evidently meant.
    var isShared = false

    /// Whether the database has, or will have once it is open, a backend.
    var hasBackend: Bool { backend != nil || connector != nil }

    /// The initial user: requests are made on behalf of this user, and this user's pending writes
    /// are visible; nil if no user is signed in.
    ///
    /// At most 256 bytes. See ``Firestore/switchUser(to:)``.
    public var userID: String?

    /// The time that gets, first snapshots and transactions wait for an unresponsive backend.
    ///
    /// For shared databases see ``FirestoreSettings/serverWait``.
    public var serverWait = ServerWait.likeFirebase

    /// The number of times a write is sent before the database gives up: it becomes a dead letter,
    /// and later writes proceed.
    ///
    /// With nil, as in Firebase's SDKs, it is sent indefinitely.
    ///
    /// Counts only attempts, since the database was opened, that the backend answered with an error
    /// such as `internal` or `resourceExhausted`; lost connections and rejected tokens do not
    /// count, unlike in ``PendingWrite/attemptCount``. A write that the backend rejects permanently
    /// becomes a dead letter immediately. See ``Firestore/deadLetters()``.
    public var maxWriteAttempts: Int?

    /// The collection of marker documents by which each write is committed once; nil for none.
    ///
    /// For shared databases see ``FirestoreSettings/writeMarkerCollection``.
    public var writeMarkerCollection: String?

    /// Which writes the snapshots of listeners show together; each write by itself by default.
    ///
    /// In both cases the snapshots are in the order of the writes, and when 32 of them wait for a
    /// listener, later ones are joined with the last.
    public var snapshotGrouping = SnapshotGrouping.eachWrite

    /// The size above which documents are evicted; 100 MiB by default.
    ///
    /// A local database evicts nothing.
    public var cacheSize = CacheSize.bytes(CachePolicy.defaultBytes)

    /// The rules for what is kept of a collection; nil for those that the store has.
    ///
    /// Rules are stored with the documents, so that every process that evicts documents obeys them.
    /// An empty array removes those of the store. See ``Firestore/setCacheRules(_:)``.
    public var cacheRules: [CacheRule]?

    /// The failures that a locally committed write survives.
    public var durability = Durability.everyCommit

    /// The access to the store.
    public var access = Access.readWrite

    /// The automatic repair when the store is damaged or cannot be written.
    public var recovery = Recovery.quarantine

    /// The logger of the database.
    public var logger = Logger(label: "larder")

    /// The queue that listeners and completion handlers run on; nil for the main queue.
    ///
    /// See ``FirestoreSettings/dispatchQueue``.
    public var callbackQueue: DispatchQueue?

    /// Whether selective queries that scan many documents create indexes automatically;
    /// ``PersistentCacheIndexManager`` changes this later.
    public var makesIndexes = false

    /// True for a maintenance tool: opening the store does not change its role.
    package var isMaintenance = false

    /// Configures a database in a directory, which is created if it does not exist.
    public init(directory: String) {
        storage = .directory(directory)
    }

    /// Configures a database with a kind of storage.
    public init(storage: Storage) {
        self.storage = storage
    }

    /// The configuration of a local database in a directory; see ``isLocal``.
    public static func local(directory: String) -> FirestoreConfiguration {
        var configuration = FirestoreConfiguration(directory: directory)
        configuration.isLocal = true
        return configuration
    }

    /// The configuration of a database in memory.
    public static var inMemory: FirestoreConfiguration {
        FirestoreConfiguration(storage: .memory)
    }
}

// MARK: - Client

extension FirestoreConfiguration {
    var databaseID: DatabaseID { DatabaseID(project: project, database: database) }

    var client: ClientConfiguration {
        get throws(LarderError) {
            var client = ClientConfiguration(storage: try store, databaseID: databaseID)
            client.collectsEagerly = storage == .memoryWithoutUnused
            client.makesIndexes = makesIndexes
            client.cacheRules = try cacheRules.map(CacheRule.validated)
            client.maxWriteAttempts = maxWriteAttempts
            client.markerCollection = try writeMarkerCollection.map { path throws(LarderError) in
                try CollectionPath(path)
            }
            client.remote = try connection?.remote
            client.isLocal = isLocal
            client.localData = localData.map { $0 == .push ? .push : .keepLocal }
            client.isMaintenance = isMaintenance
            client.joinsSnapshotsOfCommit = snapshotGrouping == .eachCommit
            client.user = try UserID(validating: userID)
            if case .atMost(let duration) = serverWait {
                client.answerTimeout = duration
                client.remembersOutages = true
            }
            return client
        }
    }

    /// The connection to the backend; created by the connector if there is one.
    private var connection: RemoteConnection? {
        get throws(LarderError) {
            if let backend { return backend }
            return try connector?.connect(
                RemoteConnector.Place(databaseID, host: host, isEncrypted: isSSLEnabled))
        }
    }

    private var store: StoreConfiguration {
        get throws(LarderError) {
            var store = StoreConfiguration(location: location)
            store.access = storeAccess
            store.recovery = storeRecovery
            store.durability = durability == .everyCommit ? .everyCommit : .lastCommitAtRisk
            store.budget = try budget
            guard (1_024...16 << 20).contains(maxDocumentBytes) else {
                throw .invalidArgument(
                    "The maximum document size is \(maxDocumentBytes) bytes; it must be from 1024 "
                        + "to 16777216 (16 MiB).")
            }
            store.maxDocumentBytes = Int64(maxDocumentBytes)
            store.log = logger.storeLog
            store.logLevel = logger.storeLogLevel
            return store
        }
    }

    private var storeRecovery: StoreConfiguration.Recovery {
        switch recovery {
        case .fail: .fail
        case .readOnly: .readOnly
        case .quarantine: .quarantine
        }
    }

    private var storeAccess: StoreConfiguration.Access {
        switch access {
        case .readWrite: .readWrite
        case .readOnly: .readOnly
        case .shared: .shared
        }
    }

    private var location: StoreConfiguration.Location {
        switch storage {
        case .directory(let path): .directory(path)
        case .memory, .memoryWithoutUnused: .memory
        }
    }

    private var budget: StoreConfiguration.Budget {
        get throws(LarderError) {
            switch cacheSize {
            case .unlimited: return .unlimited
            case .bytes(let bytes):
                guard bytes >= 1_048_576 else {
                    throw .invalidArgument(
                        "The cache size is \(bytes) bytes; it must be at least 1048576 (1 MiB) or "
                            + "FirestoreCacheSizeUnlimited.")
                }
                return .bytes(bytes)
            }
        }
    }
}

// MARK: - Settings

extension FirestoreConfiguration {
    /// Storage and cache size as Apple's settings express them.
    var cachePolicy: CachePolicy {
        let bytes =
            switch cacheSize {
            case .unlimited: FirestoreCacheSizeUnlimited
            case .bytes(let bytes): bytes
            }
        return switch storage {
        case .directory: .persistent(bytes)
        case .memory: .memory(bytes)
        case .memoryWithoutUnused: .eagerMemory
        }
    }

    mutating func apply(_ settings: SettingsValues, default directory: String) {
        callbackQueue = settings.queue
        host = settings.namesHost ? settings.host : nil
        isSSLEnabled = settings.isSSLEnabled
        serverWait = settings.serverWait
        writeMarkerCollection = settings.writeMarkerCollection
        cacheRules = settings.cacheRules
        snapshotGrouping = settings.snapshotGrouping
        isLocal = settings.isLocal
        localData = settings.localData
        switch settings.cache {
        case .persistent: storage = .directory(directory)
        case .memory: storage = .memory
        case .eagerMemory: storage = .memoryWithoutUnused
        }
        let bytes = settings.cache.sizeBytes
        cacheSize = bytes == FirestoreCacheSizeUnlimited ? .unlimited : .bytes(bytes)
    }
}
