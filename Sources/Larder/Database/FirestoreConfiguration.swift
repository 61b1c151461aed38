public import Dispatch
import LarderModel
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

    /// Where documents are kept.
    public var storage: Storage

    /// The project's id, which references to documents name.
    public var project = FirebaseOptions.placeholderProjectID

    /// The database's name in the project.
    public var database = DatabaseID.defaultDatabase

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
