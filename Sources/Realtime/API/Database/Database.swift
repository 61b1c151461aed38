public import Dispatch
public import LarderApp
import LarderCore
import LarderRealtimeModel
public import LarderRealtimeRemote
import LarderRealtimeSync
import LarderRuntime
import Logging
import Synchronization

/// A Realtime Database, the entry point of the API.
///
/// There are two kinds of databases. ``database()`` returns the shared object of a project, as in
/// Apple's SDK; it opens on first use, and keeps data in memory unless ``isPersistenceEnabled`` is
/// set before. ``init(configuration:)`` opens a store in a specific directory; a program can have
/// several.
///
/// Methods can be called from any thread and return at once. Observers and completion blocks run
/// on ``callbackQueue``, in order.
///
/// A database without a backend is offline: everything works on local data, and writes wait. A local
/// database (``isLocal``) has no backend, and what it commits is final.
public final class Database: Sendable {
    /// The application object that owns the database, as an optional like in Apple's SDK; never nil.
    public let app: FirebaseApp?

    let connection: DatabaseConnection
    let observers = ObserverRegistry()
    private let isShared: Bool

    private static let pushIDs = PushIDGenerator()

    /// Opens a database with a configuration, for this object alone.
    ///
    /// Blocks on disk I/O. The store closes when the object is deallocated or by ``close()``.
    ///
    /// - Throws: ``DatabaseError`` of the kinds `failedPrecondition` if the store is already open;
    ///   `permissionDenied`; `dataLoss` for a damaged store; `invalidArgument` for a configuration
    ///   value out of range; `unavailable` or `resourceExhausted` for system errors; errors of the
    ///   connector.
    public convenience init(configuration: DatabaseConfiguration) throws {
        let app = FirebaseApp(
            name: "larder", options: FirebaseOptions(projectID: configuration.project))
        self.init(configuration, app: app, isShared: false)
        do throws(LarderError) {
            _ = try connection.client()
        } catch {
            throw DatabaseError(error)
        }
    }

    init(_ configuration: DatabaseConfiguration, app: FirebaseApp, isShared: Bool) {
        self.app = app
        self.isShared = isShared
        connection = DatabaseConnection(configuration)
    }

    var location: DatabaseLocation { connection.location }

    var callbacks: CallbackQueue { connection.callbacks }

    var logger: Logger {
        isShared ? .realtimeShared : connection.configuration.logger
    }

    /// A key that sorts after all that were made before, by the estimated time of the server.
    func newPushID() -> ChildKey {
        let offset = connection.existingClient?.serverTimeOffset ?? .zero
        let now = connection.configuration.clock().milliseconds
        return Self.pushIDs.next(at: now + offset.wholeMilliseconds)
    }
}

extension Database: Hashable, ObjectComparable {
    /// True if both are the same object.
    public static func == (left: Database, right: Database) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

// MARK: - References

extension Database {
    /// The root of the database.
    public func reference() -> DatabaseReference {
        DatabaseReference(self, .success(.root))
    }

    /// The location at a path, such as `users/ada`.
    ///
    /// Slashes at the ends and repeated ones are ignored. If the path is invalid, every operation
    /// on the reference fails with `invalidArgument`.
    public func reference(withPath path: String) -> DatabaseReference {
        DatabaseReference(self, Result { () throws(LarderError) in try TreePath(validating: path) })
    }

    /// The location of a URL, whose host must be that of the database.
    public func reference(fromURL databaseURL: String) -> DatabaseReference {
        DatabaseReference(
            self,
            Result { () throws(LarderError) in
                let (other, path) = try DatabaseLocation.parse(databaseURL)
                guard other.host == location.host || location.isCustomHost else {
                    throw .invalidArgument(
                        "the URL '\(databaseURL)' is not of the database \(location.url(of: .root))"
                    )
                }
                return try TreePath(validating: path)
            })
    }
}

// MARK: - Settings

extension Database {
    /// True if data and pending writes are kept on disk; set it before the first use.
    ///
    /// The default is false for shared databases, as in Apple's SDK. Later assignments are logged
    /// as errors and have no effect, as are those to a database created with
    /// ``init(configuration:)``.
    public var isPersistenceEnabled: Bool {
        get {
            if case .directory = connection.configuration.storage { true } else { false }
        }
        set {
            configure("isPersistenceEnabled") {
                $0.storage = newValue ? .directory($0.defaultDirectory) : .memoryWithoutUnused
            }
        }
    }

    /// The size above which cached data is evicted, in bytes, at least 1 MiB; 10 MiB by default.
    ///
    /// Set it before the first use.
    public var persistenceCacheSizeBytes: UInt {
        get {
            switch connection.configuration.cacheSize {
            case .bytes(let bytes): UInt(clamping: bytes)
            case .unlimited: .max
            }
        }
        set {
            configure("persistenceCacheSizeBytes") {
                $0.cacheSize = newValue > Int64.max ? .unlimited : .bytes(Int64(newValue))
            }
        }
    }

    /// True if the database is local: it has no backend, and a local commit is final.
    ///
    /// Set it, and ``isPersistenceEnabled``, before the first use. See
    /// ``DatabaseConfiguration/isLocal``. Not in Apple's SDK.
    public var isLocal: Bool {
        get { connection.configuration.isLocal }
        set { configure("isLocal") { $0.isLocal = newValue } }
    }

    /// The handling of a local database's data when it is opened with a backend.
    ///
    /// Set it before the first use. See ``DatabaseConfiguration/localData-swift.property``. Not in
    /// Apple's SDK.
    public var localData: DatabaseConfiguration.LocalData? {
        get { connection.configuration.localData }
        set { configure("localData") { $0.localData = newValue } }
    }

    /// The queue that observers and completion blocks run on; the main queue by default.
    ///
    /// Set it before the first use; use a serial queue.
    public var callbackQueue: DispatchQueue {
        get { connection.configuration.callbackQueue ?? .main }
        set { configure("callbackQueue") { $0.callbackQueue = newValue } }
    }

    /// Uses an emulator or a local server; call before the first use.
    ///
    /// Takes effect together with a connector, which connects to this address without encryption.
    public func useEmulator(withHost host: String, port: Int) {
        configure("useEmulator") { $0.emulator = (host, port) }
    }

    /// Synchronizes the database with a backend; call before the first use.
    public func useBackend(_ backend: RealtimeRemoteConnection) {
        configure("useBackend") { ($0.backend, $0.connector) = (backend, nil) }
    }

    /// Synchronizes the database with the server of its URL through a connector; call before the
    /// first use.
    public func useBackend(_ connector: RealtimeRemoteConnector) {
        configure("useBackend") { ($0.backend, $0.connector) = (nil, connector) }
    }

    private func configure(
        _ name: String, _ change: (inout DatabaseConfiguration) -> Void
    ) {
        if !connection.configure(change) {
            logger.error(
                """
                \(name) was used after the first use of the database, or on one created with \
                init(configuration:); it has no effect.
                """)
        }
    }

    /// Sets the log level of shared databases used from now on: everything, or only warnings and
    /// errors.
    public static func setLoggingEnabled(_ enabled: Bool) {
        Logger.setRealtimeVerbose(enabled)
    }

    /// The version of Larder.
    public static func sdkVersion() -> String { LarderVersion.text }
}
