public import Dispatch
import LarderApp
package import LarderCore
import LarderRealtimeModel
public import LarderRealtimeRemote
package import LarderRealtimeSync
import LarderRuntime
import LarderStorage
public import Logging

/// Configures a database opened with ``Database/init(configuration:)``.
///
/// ```swift
/// let configuration = DatabaseConfiguration(directory: "/var/lib/game/realtime")
/// let database = try Database(configuration: configuration)
/// ```
public struct DatabaseConfiguration: Sendable {
    /// Where data and pending writes are kept.
    public enum Storage: Hashable, Sendable {
        /// In a directory of a local file system.
        case directory(String)
        /// In memory; deleted by ``Database/close()``.
        case memory
        /// In memory, without data that no observer and no pending write needs; the default of
        /// shared databases, as in Apple's SDK.
        case memoryWithoutUnused
    }

    /// The access to the directory, for this process and others.
    public enum Access: Hashable, Sendable {
        /// No other process can open the database.
        case exclusive
        /// Processes on this machine share the database; all of them open it as shared.
        ///
        /// Each process has its own connection and sends its own writes, which the others show at
        /// once. When a process ends or dies, another sends what it has left. One process keeps
        /// the cache for all.
        case shared
    }

    /// The failures that a locally committed write survives.
    public enum Durability: Hashable, Sendable {
        /// Every commit is on disk when it is reported and survives a power failure.
        case everyCommit
        /// Every commit survives the end of the process. After a power failure the store is intact,
        /// but the last commit may be missing. Costs what ``everyCommit`` does: one disk flush.
        case lastCommitAtRisk
    }

    /// The automatic repair of damaged data when a database is opened; it is logged.
    ///
    /// Data that was not closed is recovered from the write-ahead log in any case.
    public enum Recovery: Hashable, Sendable {
        /// Opening fails.
        case fail
        /// The files of a damaged store are moved, as they are, to a directory
        /// `damaged-TIME` in the store's directory. A new store has everything that can be read of
        /// them, pending writes first.
        case quarantine
    }

    /// The size above which data that no observer needs is evicted.
    public enum CacheSize: Hashable, Sendable {
        /// Evicts nothing.
        case unlimited
        /// A size in bytes, at least 1 MiB.
        case bytes(Int64)
    }

    /// The handling of a local database's data when it is opened with a backend.
    public enum LocalData: Hashable, Sendable {
        /// It is queued as updates of its values: what the server has beside them stays.
        ///
        /// Locations that are local only by the cache rules stay so.
        case push
        /// It stays in the store alone: the locations below the root that have data become local
        /// only by the cache rules of the store.
        ///
        /// While the configuration has this value, rules of the store that are local only stay in
        /// force, also if ``DatabaseConfiguration/cacheRules`` has others. Not available for
        /// ``Access/shared``.
        case keepLocal
    }

    /// Fetches the token of the signed-in user; nil if no user is signed in.
    ///
    /// The parameter is true if the server has refused the last token, so that one from a cache
    /// does not serve. If it throws, the connection is tried again later; writes wait.
    public typealias TokenProvider = @Sendable (_ forcingRefresh: Bool) async throws -> String?

    /// Where data and pending writes are kept.
    public var storage: Storage

    /// The access to ``Storage-swift.enum/directory(_:)``; a database in memory cannot be shared.
    ///
    /// Opening fails with `failedPrecondition` if another process has the directory open, unless
    /// both share it.
    public var access = Access.exclusive

    /// The project ID of ``Database/app``.
    public var project = FirebaseOptions.placeholderProjectID

    /// The URL of the database, which references and a connector use, such as
    /// `https://game-default-rtdb.firebaseio.com`; nil for the default database of the project.
    public var url: String?

    /// The emulator or local server in place of the URL's host.
    var emulator: (host: String, port: Int)?

    /// The backend that the database synchronizes with; nil for none.
    ///
    /// Without a backend the database is offline, and writes stay pending, unless it is local
    /// (``isLocal``).
    public var backend: RealtimeRemoteConnection?

    /// Creates the connection when the database opens, if ``backend`` is nil.
    public var connector: RealtimeRemoteConnector?

    /// True if the database is local: it has no backend, and a local commit is final.
    ///
    /// Nothing is pending or queued: completion blocks are called after the commit, transactions run
    /// once and end with it, and server values are computed by the local clock. The store is the
    /// source of truth: reads are answered by it, and a location without data is empty.
    /// `.info/connected` stays false, `.info/serverTimeOffset` is 0, and operations for the end of
    /// the connection fail with `failedPrecondition`. Nothing is evicted: ``cacheSize`` does not
    /// apply, and cache rules that evict are `invalidArgument`, as are a backend and
    /// ``Storage-swift.enum/memoryWithoutUnused``.
    ///
    /// A store that was opened so is a local database until it is opened with a backend, also
    /// without this property. One that was opened otherwise before becomes one: its pending writes
    /// are made final in their order, and transactions that were based on other data become dead
    /// letters (``Database/deadLetters()``).
    public var isLocal = false

    /// The handling of a local database's data when it is opened with a backend.
    ///
    /// With nil, opening it with a backend fails with `failedPrecondition` if it has data. No effect
    /// on other stores.
    public var localData: LocalData?

    /// True if the database makes no connection until ``Database/goOnline()``.
    public var startsOffline = false

    /// Fetches the token that the database authenticates with; nil for none.
    public var tokenProvider: TokenProvider?

    /// True if the last token that the server accepted is kept in the store and used after a
    /// restart, before ``tokenProvider`` is asked.
    public var keepsToken = false

    /// The size above which data that no observer needs is evicted; 10 MiB by default.
    ///
    /// A local database evicts nothing.
    public var cacheSize = CacheSize.bytes(10 << 20)

    /// The cache rules, which replace those of the store when the database opens; nil to keep
    /// those.
    ///
    /// Opening fails with `invalidArgument` for rules that contradict themselves or each other, and
    /// for rules of a database that keeps no cache.
    public var cacheRules: [DatabaseCacheRule]?

    /// The failures that a locally committed write survives.
    public var durability = Durability.everyCommit

    /// The automatic repair when the data in the directory is damaged.
    public var recovery = Recovery.quarantine

    /// True if a write that is overwritten by the next one before it was sent is not sent.
    ///
    /// Only writes of the same location that follow each other directly are merged, and only if
    /// the later one contains no increment; both are acknowledged with the later one. Security
    /// rules that compare a value with its predecessor can tell the difference, so the default is
    /// false.
    public var mergesOverwrittenWrites = false

    /// The time that ``DatabaseQuery/getData()`` waits for the server, connected or not, before it
    /// falls back to the cache; 3 seconds by default, as in Apple's SDK.
    public var serverWait = Duration.seconds(3)

    /// The time that transactions of an earlier run of the program wait for a handler, after which
    /// they become dead letters; see ``DatabaseReference/resumeTransactions(_:)``.
    public var transactionHandlerWait = Duration.seconds(60)

    /// The logger of the database.
    public var logger = Logger(label: "larder.realtime")

    /// The queue that observers and completion blocks run on; nil for the main queue.
    ///
    /// Use a serial queue.
    public var callbackQueue: DispatchQueue?

    /// True if the database has, or will have once it is open, a backend.
    var hasBackend: Bool { backend != nil || connector != nil }

    /// True for the database of an application object, which is told what it may have overlooked.
    var isShared = false

    /// The address, or what is wrong with the URL.
    var location: Result<DatabaseLocation, LarderError> {
        Result { () throws(LarderError) in
            let location =
                try url.map { (url) throws(LarderError) in try DatabaseLocation(url: url) }
                ?? DatabaseLocation(project: project)
            return emulator.map { location.onEmulator(host: $0.host, port: $0.port) } ?? location
        }
    }

    /// The store of the shared database, used when persistence is enabled.
    var defaultDirectory = ""

    /// The engine's clock, executor and timers; another one in tests.
    package var scheduler: (any EngineScheduler)?

    /// Runs callbacks in place of ``callbackQueue``; for tests.
    package var callbackRunner: CallbackQueue.Runner?

    /// The local clock.
    package var clock: @Sendable () -> Timestamp = { Timestamp.now() }

    /// Configures a database in a directory, which is created if it does not exist.
    public init(directory: String) {
        self.init(storage: .directory(directory))
    }

    /// Configures a database with a kind of storage.
    public init(storage: Storage) {
        self.storage = storage
    }

    /// The configuration of a local database in a directory; see ``isLocal``.
    public static func local(directory: String) -> DatabaseConfiguration {
        var configuration = DatabaseConfiguration(directory: directory)
        configuration.isLocal = true
        return configuration
    }

    /// The configuration of a database in memory.
    public static var inMemory: DatabaseConfiguration {
        DatabaseConfiguration(storage: .memory)
    }
}

// MARK: - Client

extension DatabaseConfiguration {
    /// The client's configuration.
    var client: DatabaseClientConfiguration {
        get throws(LarderError) {
            var client = DatabaseClientConfiguration(storage: try store)
            client.cacheRules = try checkedCacheRules
            client.remote = try remote
            client.isLocal = isLocal
            client.localData = localData.map { $0 == .push ? .push : .keepLocal }
            client.tokens = tokenProvider.map { TokenProviderSource($0) }
            client.startsOffline = startsOffline
            client.keepsToken = keepsToken
            client.mergesOverwrittenWrites = mergesOverwrittenWrites
            client.getTimeout = serverWait
            client.transactionHandlerWait = transactionHandlerWait
            client.clock = clock
            if let scheduler { client.scheduler = scheduler }
            let logger = logger
            client.log = { message in logger.warning("\(message)") }
            return client
        }
    }

    private var remote: (any RealtimeRemote)? {
        get throws(LarderError) {
            if let backend { return backend.remote }
            let location = try location.get()
            return try connector?.connect(
                RealtimeRemoteConnector.Address(
                    host: location.host, namespace: location.namespace,
                    isEncrypted: location.isEncrypted)
            ).remote
        }
    }

    private var store: StoreConfiguration? {
        get throws(LarderError) {
            let access = try storeAccess
            var store: StoreConfiguration
            switch storage {
            case .directory(let path): store = StoreConfiguration(directory: path)
            case .memory: store = .inMemory()
            case .memoryWithoutUnused: return nil
            }
            store.access = access
            store.recovery = recovery == .fail ? .fail : .quarantine
            store.mapBytes = StoreConfiguration.modestMapBytes
            store.errorDomain = LarderError.realtimeDomain
            store.durability = durability == .everyCommit ? .everyCommit : .lastCommitAtRisk
            store.budget = try budget
            let logger = logger
            store.log = { level, message in
                logger.log(level: level == .error ? .error : .warning, "\(message)")
            }
            return store
        }
    }

    private var checkedCacheRules: TreeCacheRules? {
        get throws(LarderError) {
            guard let cacheRules else { return nil }
            if storage == .memoryWithoutUnused, !cacheRules.isEmpty {
                throw .invalidArgument(
                    "There are cache rules, and the storage keeps no cache; use a directory or "
                        + "memory.")
            }
            return try TreeCacheRules(cacheRules)
        }
    }

    private var storeAccess: StoreConfiguration.Access {
        get throws(LarderError) {
            switch (access, storage) {
            case (.exclusive, _): return .readWrite
            case (.shared, .directory): return .shared
            case (.shared, _):
                throw .invalidArgument(
                    "A database in memory cannot be shared; use a directory.")
            }
        }
    }

    private var budget: StoreConfiguration.Budget {
        get throws(LarderError) {
            guard case .bytes(let bytes) = cacheSize else { return .unlimited }
            guard bytes >= 1 << 20 else {
                throw .invalidArgument(
                    "The cache size is \(bytes) bytes; it must be at least 1048576 (1 MiB).")
            }
            return .bytes(bytes)
        }
    }
}

/// Tokens of an application's closure.
private struct TokenProviderSource: TokenSource {
    let provider: DatabaseConfiguration.TokenProvider

    init(_ provider: @escaping DatabaseConfiguration.TokenProvider) {
        self.provider = provider
    }

    func fetchToken(
        forcingRefresh: Bool, _ completion: @escaping Completion<String?>
    ) {
        Task {
            do {
                completion(.success(try await provider(forcingRefresh)))
            } catch {
                completion(
                    .failure(
                        LarderError(
                            realtime: .unauthenticated, "the token provider failed: \(error)",
                            cause: error)))
            }
        }
    }
}
