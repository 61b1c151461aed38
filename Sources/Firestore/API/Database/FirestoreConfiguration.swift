public import Dispatch
import LarderModel
public import LarderRemote
public import Logging

/// How a database at a place of one's choosing is opened.
///
/// ```swift
/// let configuration = FirestoreConfiguration(directory: "/var/lib/shop/larder")
/// let db = try Firestore(configuration: configuration)
/// ```
public struct FirestoreConfiguration: Sendable {
    /// Where documents are kept.
    public enum Storage: Hashable, Sendable {
        /// In a directory of a local file system.
        case directory(String)
        /// In memory: nothing is left after ``Firestore/terminate(completion:)``.
        case memory
        /// In memory, and without what no listener and no pending write needs.
        case memoryWithoutUnused
    }

    /// What the program may do with the store, and what other processes may do meanwhile.
    public enum Access: Hashable, Sendable {
        /// Reading and writing; no other process may open the store but for reading only.
        case readWrite
        /// Reading only; another process may be writing. The store must exist.
        case readOnly
        /// Reading and writing, with other processes of this machine that share the store, too.
        ///
        /// Each of them reads, writes and listens; one has the network for all, and another
        /// takes it over within 5 s when that one ends or dies.
        case shared
    }

    /// What a write survives once it is committed locally.
    public enum Durability: Hashable, Sendable {
        /// Each commit is on disk when it is reported: it survives a power cut.
        case everyCommit
        /// Each commit survives the end of the process. After a power cut the store is intact,
        /// but the last commit may be missing; one disk flush a commit instead of two.
        case lastCommitAtRisk
    }

    /// How much the store may occupy before documents are evicted that nothing pins.
    public enum CacheSize: Hashable, Sendable {
        /// Nothing is evicted.
        case unlimited
        /// Bytes, at least 1 MiB.
        case bytes(Int64)
    }

    /// How long gets and first snapshots wait for a backend that does not answer, before they are
    /// made of what is cached; and the reads and the commit of a transaction, before they fail.
    ///
    /// It holds for a connection that cannot be made, and for one that has fallen silent although
    /// it is open: something was asked, and for so long nothing has come. A connection that has
    /// answered before and a transaction are given a second at least, so that a slow answer is not
    /// taken for an outage.
    public enum ServerWait: Hashable, Sendable {
        /// Until an attempt to reach it fails, 10 seconds at most; and again for the next one
        /// that asks after nobody did.
        ///
        /// With gets one after the other a client without a network may wait for each of them.
        case likeFirebase
        /// Until an attempt to reach it fails, and at most so long; and not at all as long as
        /// the last attempt has failed and the next one is not due.
        ///
        /// Zero lets nothing wait that the cache can answer.
        case atMost(Duration)
    }

    /// Where documents are kept.
    public var storage: Storage

    /// The project's id, which references to documents name.
    public var project = FirebaseOptions.placeholderProjectID

    /// The database's name in the project.
    public var database = DatabaseID.defaultDatabase

    /// The backend that the database is kept in agreement with; nil for none.
    ///
    /// Without one the database is as a client that is offline, and what is written waits for a
    /// backend to come.
    public var backend: RemoteConnection?

    /// Makes ``backend`` when the database opens, where that is nil; nil for nothing.
    ///
    /// What it needs and does not find, such as credentials, is an error of opening.
    public var connector: RemoteConnector?

    /// The backend's host, for ``connector``; nil for the one that it knows.
    var host: String?

    /// Whether what travels to ``host`` is encrypted.
    var isSSLEnabled = true

    /// Whether there is a backend, or will be one once the database is open.
    var hasBackend: Bool { backend != nil || connector != nil }

    /// The user as whom the backend is asked, and whose pending writes are made and seen, to begin
    /// with; nil for nobody who signed in.
    ///
    /// At most 256 bytes. See ``Firestore/switchUser(to:)``.
    public var userID: String?

    /// The time that gets, first snapshots and transactions wait for a silent backend.
    ///
    /// ``FirestoreSettings/serverWait`` is the same for shared databases.
    public var serverWait = ServerWait.likeFirebase

    /// How often a write is sent before the database gives up on it: it becomes a dead letter, and
    /// the writes behind it go on; nil, as in Firebase's SDKs, sends it for ever.
    ///
    /// Only the backend's answers end a write, such as `internal` or `resourceExhausted`, not a
    /// connection that is lost or a token that is refused. Only times that it was sent count, since
    /// the database was opened; ``PendingWrite/attemptCount`` counts others, too. What the backend refuses for good is a dead letter at once. See
    /// ``Firestore/deadLetters()``.
    public var maxWriteAttempts: Int?

    /// How much the store may occupy; 100 MiB unless it is said otherwise.
    public var cacheSize = CacheSize.bytes(CachePolicy.defaultBytes)

    /// What a write survives once it is committed locally.
    public var durability = Durability.everyCommit

    /// What the program may do with the store.
    public var access = Access.readWrite

    /// Where the database logs.
    public var logger = Logger(label: "larder")

    /// The queue that listeners and completion handlers are called on; nil for the main queue.
    ///
    /// See ``FirestoreSettings/dispatchQueue``.
    public var callbackQueue: DispatchQueue?

    /// Whether queries that scan much and find little make indexes for the next ones, from the
    /// start; ``PersistentCacheIndexManager`` switches that later.
    public var makesIndexes = false

    /// A database in a directory, which is made where there is none.
    public init(directory: String) {
        storage = .directory(directory)
    }

    /// A database kept as the parameter says.
    public init(storage: Storage) {
        self.storage = storage
    }

    /// A database in memory.
    public static var inMemory: FirestoreConfiguration {
        FirestoreConfiguration(storage: .memory)
    }
}
