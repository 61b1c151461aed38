import Foundation
public import LarderApp
import LarderModel

extension Firestore {
    private static let shared = SharedDatabases<Firestore>(product: "Firestore") {
        firestore, done in
        firestore.connection.terminate { _ in done() }
    }

    /// The shared `(default)` database of the default application object.
    ///
    /// Every call returns the same object until it is terminated. The store is in
    /// `LARDER_DIRECTORY`, else in `larder` in `XDG_DATA_HOME`, else in `~/.local/share/larder`,
    /// followed by the project, the name of an application object other than the default one, and
    /// the database. It opens on first use, which blocks on disk I/O; if opening fails, every
    /// operation reports the error and the next one tries again. Only one process at a time can
    /// open a store for writing.
    public static func firestore() -> Firestore {
        firestore(app: .configuredDefault)
    }

    /// The shared `(default)` database of an application object.
    public static func firestore(app: FirebaseApp) -> Firestore {
        firestore(app: app, database: DatabaseID.defaultDatabase)
    }

    /// A named shared database of the default application object.
    public static func firestore(database: String) -> Firestore {
        firestore(app: .configuredDefault, database: database)
    }

    /// A named shared database of an application object.
    ///
    /// Every operation on the database of a deleted object fails with `failedPrecondition`.
    public static func firestore(app: FirebaseApp, database: String) -> Firestore {
        shared.obtain(app, database) { Firestore(sharedBy: app, database: database) }
    }

    private convenience init(sharedBy app: FirebaseApp, database: String) {
        let id = DatabaseID(project: app.projectID, database: database)
        var configuration = FirestoreConfiguration(
            directory: DatabaseDirectory.path(app: app.name, id))
        configuration.project = id.project
        configuration.database = id.database
        configuration.logger = .shared
        configuration.isShared = true
        self.init(configuration, app: app, isShared: true)
    }

    /// Removes this object from the shared databases, so that the next request creates a new one.
    func leaveShared() {
        Self.shared.remove(self)
    }
}

/// The directories of shared databases.
enum DatabaseDirectory {
    /// The directory of a database of an application object.
    ///
    /// `LARDER_DIRECTORY`, else `larder` in `XDG_DATA_HOME`, else `~/.local/share/larder`; below
    /// it the project and the database, and the application's name between unless it is the
    /// default one.
    static func path(
        app: String, _ id: DatabaseID,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        home: String = NSHomeDirectory()
    ) -> String {
        StoreDirectory.path(
            app: app, in: id.project, named: StoreDirectory.fileName(id.database),
            environment: environment, home: home)
    }
}
