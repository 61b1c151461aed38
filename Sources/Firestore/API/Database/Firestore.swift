import Dispatch
public import LarderApp
import LarderModel
import LarderQuery
public import LarderRemote
import LarderSync
import Logging
import Synchronization

/// A document database, the entry point of the API.
///
/// There are two kinds of databases. ``firestore()`` returns the shared object of a project, as in
/// Apple's SDK; its store is in a default directory and opens on first use.
/// ``init(configuration:)`` opens a store in a specific directory; a program can have several.
///
/// Reads from the cache wait for this instance's earlier writes to the same documents, and for no
/// other writer. Writes return immediately and are visible to all later reads and listeners of the
/// same instance. Methods can be called from any thread. Completion handlers run on the callback
/// queue (``FirestoreConfiguration/callbackQueue``, ``FirestoreSettings/dispatchQueue``).
///
/// Where Apple's SDK terminates the program because of a misuse, such as a path with two
/// consecutive slashes, the reference or query keeps the error, and every operation on it fails
/// with `invalidArgument`.
public final class Firestore: Sendable {
    let databaseID: DatabaseID
    /// The beginning of the names of its documents.
    let documentsPrefix: String
    let maxDocumentBytes: Int64

    /// The application object that owns the database.
    public let app: FirebaseApp

    let connection: ClientConnection
    let transactions = TransactionGate()
    private let isShared: Bool
    private let values: Mutex<SettingsValues>

    /// Opens a database with a configuration, for this object alone.
    ///
    /// Blocks on disk I/O. The store closes when the object is deallocated or by
    /// ``terminate(completion:)``.
    ///
    /// - Throws: `failedPrecondition` if the store is already open in this process or, for writing,
    ///   in another, or if it is a local database and the configuration has a backend and no
    ///   ``FirestoreConfiguration/localData-swift.property``; `notFound` if a store opened for
    ///   reading does not exist; `permissionDenied`; `dataLoss` for a damaged store;
    ///   `invalidArgument` for a configuration value out of range;
    ///   `unavailable` or `resourceExhausted` for system errors; errors of the connector, such as
    ///   `failedPrecondition` without credentials or `notFound` for a missing key file.
    public convenience init(configuration: FirestoreConfiguration) throws(LarderError) {
        let app = FirebaseApp(
            name: "larder", options: FirebaseOptions(projectID: configuration.project))
        self.init(configuration, app: app, isShared: false)
        _ = try connection.client()
    }

    init(_ configuration: FirestoreConfiguration, app: FirebaseApp, isShared: Bool) {
        databaseID = configuration.databaseID
        documentsPrefix = databaseID.documentsPrefix
        maxDocumentBytes = Int64(configuration.maxDocumentBytes)
        self.app = app
        self.isShared = isShared
        let connection = ClientConnection(configuration)
        self.connection = connection
        var values = SettingsValues()
        values.queue = connection.callbackQueue
        values.cache = configuration.cachePolicy
        values.serverWait = configuration.serverWait
        values.writeMarkerCollection = configuration.writeMarkerCollection
        values.cacheRules = configuration.cacheRules
        values.snapshotGrouping = configuration.snapshotGrouping
        values.isLocal = configuration.isLocal
        values.localData = configuration.localData
        self.values = Mutex(values)
    }

    /// The settings that the database opens with; a copy.
    ///
    /// Set it before the first use of the database. Later assignments are logged as errors and have
    /// no effect, as are all assignments to a database created with ``init(configuration:)``.
    public var settings: FirestoreSettings {
        get { FirestoreSettings(values.withLock { $0 }) }
        set {
            let new = newValue.values
            guard connection.configure({ $0.apply(new, default: defaultDirectory) }) else {
                if new != values.withLock({ $0 }) {
                    logger.error(
                        "settings were assigned after the first use of the database; the assignment has no effect."
                    )
                }
                return
            }
            values.withLock { $0 = new }
        }
    }

    private var defaultDirectory: String {
        DatabaseDirectory.path(app: app.name, databaseID)
    }

    /// Uses an emulator or a local server as the backend; call before the first use.
    ///
    /// Takes effect together with a `RemoteConnector`, set before or after: it connects to this
    /// address without encryption, as the emulator's owner.
    public func useEmulator(withHost host: String, port: Int) {
        let settings = settings
        settings.host = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        settings.isSSLEnabled = false
        self.settings = settings
    }

    /// Synchronizes the database with a backend; call before the first use.
    ///
    /// Later calls are logged as errors and have no effect, as are all calls on a database created
    /// with ``init(configuration:)``, whose configuration names the backend or connector.
    public func useBackend(_ backend: RemoteConnection) {
        name { ($0.backend, $0.connector) = (backend, nil) }
    }

    /// Synchronizes the database with the backend given by its settings or else by the connector;
    /// call before the first use.
    ///
    /// The connection is created when the database opens and closed with it. If the connector
    /// throws, for example `failedPrecondition` without credentials or `notFound` for a missing key
    /// file, every operation on the database fails with that error. With the product `LarderGRPC`:
    ///
    /// ```swift
    /// let db = Firestore.firestore()
    /// db.useBackend(.cloudFirestore)
    /// ```
    ///
    /// Otherwise as ``useBackend(_:)-(RemoteConnection)``.
    public func useBackend(_ connector: RemoteConnector) {
        name { ($0.backend, $0.connector) = (nil, connector) }
    }

    private func name(_ change: (inout FirestoreConfiguration) -> Void) {
        if !connection.configure(change) {
            logger.error(
                """
                useBackend was called after the first use, or on a database created with \
                init(configuration:); the call has no effect.
                """)
        }
    }

    /// Sets the log level of shared databases used from now on: everything, or only warnings and
    /// errors.
    public static func enableLogging(_ enabled: Bool) {
        Logger.setVerbose(enabled)
    }

    var logger: Logger {
        isShared ? .shared : connection.configuration.logger
    }

    var callbackQueue: DispatchQueue { connection.callbackQueue }
}

extension Firestore: Hashable, ObjectComparable {
    /// True if both are the same object.
    public static func == (left: Firestore, right: Firestore) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

extension Firestore {
    /// The collection at a path, such as `cities` or `cities/SF/landmarks`.
    ///
    /// Leading and trailing slashes are ignored. If the path is not that of a collection (empty,
    /// with `//`, with an even number of segments), every operation fails with `invalidArgument`.
    public func collection(_ collectionPath: String) -> CollectionReference {
        CollectionReference(self, parsing: collectionPath)
    }

    /// The document at a path, such as `cities/SF`.
    ///
    /// Leading and trailing slashes are ignored. If the path is not that of a document (empty, with
    /// `//`, with an odd number of segments), every operation fails with `invalidArgument`.
    public func document(_ documentPath: String) -> DocumentReference {
        DocumentReference(self, parsing: documentPath)
    }

    /// A query for the documents of all collections with an ID, at any depth.
    ///
    /// If the ID is empty or contains a slash, every operation fails with `invalidArgument`.
    public func collectionGroup(_ collectionID: String) -> Query {
        Query(self, .success(LarderQuery.Query(.group(collectionID))))
    }

    /// An empty write batch.
    public func batch() -> WriteBatch {
        WriteBatch(self)
    }
}
