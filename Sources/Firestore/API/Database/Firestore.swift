import Dispatch
import LarderModel
import LarderQuery
public import LarderRemote
import LarderSync
import Logging
import Synchronization

/// A database of documents: the entry to everything.
///
/// There are two forms. ``firestore()`` gives the shared object of a project, as Apple's SDK does;
/// its store lies in a default directory and opens at the first use. ``init(configuration:)``
/// opens a store at a place of one's choosing; a program may have several.
///
/// Reads from the cache wait for this object's earlier writes to the same place, and for no other
/// writer. Writes return at once and are seen by every later read and listener of the same object.
/// Any thread may call. Completion handlers come on the callback queue
/// (``FirestoreConfiguration/callbackQueue``, ``FirestoreSettings/dispatchQueue``).
///
/// Where Apple's SDK stops the program over a misuse, such as a path with two slashes in a row,
/// the reference or query that was made of it keeps the error, and whatever is asked of it
/// reports that error as `invalidArgument`.
public final class Firestore: Sendable {
    /// The project and the name of the database.
    let databaseID: DatabaseID

    /// The application object that the database belongs to.
    public let app: FirebaseApp

    let connection: Connection
    let transactions = TransactionGate()
    private let isShared: Bool
    private let values: Mutex<SettingsValues>

    /// Opens a database at a place of one's choosing, for this object alone.
    ///
    /// Blocks for the disk. The store closes when the object is let go, or by
    /// ``terminate(completion:)``.
    ///
    /// - Throws: `failedPrecondition` when the store is open already in this process or, for
    ///   writing, in another; `notFound` when there is none to read; `permissionDenied`;
    ///   `dataLoss` for a damaged store; `invalidArgument` for a configuration out of range;
    ///   `unavailable` or `resourceExhausted` from the system; what its connector throws, such as
    ///   `failedPrecondition` without credentials or `notFound` for a key file.
    public convenience init(configuration: FirestoreConfiguration) throws(LarderError) {
        let app = FirebaseApp(
            name: "larder", options: FirebaseOptions(projectID: configuration.project))
        self.init(configuration, app: app, isShared: false)
        _ = try connection.client()
    }

    init(_ configuration: FirestoreConfiguration, app: FirebaseApp, isShared: Bool) {
        databaseID = configuration.databaseID
        self.app = app
        self.isShared = isShared
        let connection = Connection(configuration)
        self.connection = connection
        var values = SettingsValues()
        values.queue = connection.callbackQueue
        values.cache = configuration.cachePolicy
        values.serverWait = configuration.serverWait
        self.values = Mutex(values)
    }

    /// How the database is opened; a copy.
    ///
    /// Set it before anything else is done with the database. Later assignments are logged as
    /// errors and change nothing, as does any for a database with a configuration of its own.
    public var settings: FirestoreSettings {
        get { FirestoreSettings(values.withLock { $0 }) }
        set {
            let new = newValue.values
            guard connection.configure({ $0.apply(new, default: defaultDirectory) }) else {
                if new != values.withLock({ $0 }) {
                    logger.error(
                        "Settings were changed after the first use; they stay as they were.")
                }
                return
            }
            values.withLock { $0 = new }
        }
    }

    private var defaultDirectory: String {
        DatabaseDirectory.path(app: app.name, databaseID)
    }

    /// Names an emulator, or a local server, as the backend; before the first use.
    ///
    /// It is for a database whose backend is named by a `RemoteConnector`, before or after:
    /// that connects there in plain text, as the emulator's owner.
    public func useEmulator(withHost host: String, port: Int) {
        let settings = settings
        settings.host = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        settings.isSSLEnabled = false
        self.settings = settings
    }

    /// Keeps the database in agreement with a backend; before the first use.
    ///
    /// Later calls are logged as errors and change nothing, as does any for a database with a
    /// configuration of its own: that names its backend or connector.
    public func useBackend(_ backend: RemoteConnection) {
        name { ($0.backend, $0.connector) = (backend, nil) }
    }

    /// Keeps the database in agreement with the backend that its settings say, or the connector
    /// knows; before the first use.
    ///
    /// The connection is made when the database opens, and ends with it. What the connector
    /// throws, such as `failedPrecondition` without credentials or `notFound` for a key file, is
    /// the error of whatever is asked of the database. With the product `LarderGRPC`:
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
                A backend was named after the first use, or for a database with a configuration \
                of its own; it is not used.
                """)
        }
    }

    /// Logs every step, or warnings and errors alone, in shared databases used from now on.
    public static func enableLogging(_ enabled: Bool) {
        Logger.setVerbose(enabled)
    }

    var logger: Logger {
        isShared ? .shared : connection.configuration.logger
    }

    var callbackQueue: DispatchQueue { connection.callbackQueue }
}

extension Firestore: Hashable {
    /// Whether both are the same object.
    public static func == (left: Firestore, right: Firestore) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

extension Firestore {
    /// The collection at a path, such as `cities` or `cities/SF/landmarks`.
    ///
    /// Slashes at its ends are ignored. With a path that is not a collection's (empty, with `//`, an
    /// even number of segments) every operation fails with `invalidArgument`.
    public func collection(_ collectionPath: String) -> CollectionReference {
        CollectionReference(self, parsing: collectionPath)
    }

    /// The document at a path, such as `cities/SF`.
    ///
    /// Slashes at its ends are ignored. With a path that is not a document's (empty, with `//`, an
    /// odd number of segments) every operation fails with `invalidArgument`.
    public func document(_ documentPath: String) -> DocumentReference {
        DocumentReference(self, parsing: documentPath)
    }

    /// A query for the documents of every collection with an id, wherever it lies.
    ///
    /// With an id that is empty or has a slash every operation fails with `invalidArgument`.
    public func collectionGroup(_ collectionID: String) -> Query {
        Query(self, .success(LarderQuery.Query(.group(collectionID))))
    }

    /// An empty batch, for several writes in one.
    public func batch() -> WriteBatch {
        WriteBatch(self)
    }
}
