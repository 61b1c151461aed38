import LarderModel
import Synchronization

extension Firestore {
    private struct Key: Hashable {
        let app: String
        let database: String
    }

    private static let shared = Mutex<[Key: Firestore]>([:])

    /// The shared database `(default)` of the default application object.
    ///
    /// Each call gives the same object, until it is terminated. The store lies in
    /// `LARDER_DIRECTORY`, else in `larder` in `XDG_DATA_HOME`, else in `~/.local/share/larder`,
    /// each followed by project and database. It opens at the first use, which blocks for
    /// the disk; when that fails every operation reports why, and the next one tries again.
    /// One process at a time has a store open for writing.
    public static func firestore() -> Firestore {
        firestore(app: .configuredDefault)
    }

    /// The shared database `(default)` of an application object.
    public static func firestore(app: FirebaseApp) -> Firestore {
        firestore(app: app, database: DatabaseID.defaultDatabase)
    }

    /// A shared database of the default application object, by its name.
    public static func firestore(database: String) -> Firestore {
        firestore(app: .configuredDefault, database: database)
    }

    /// A shared database of an application object, by its name.
    public static func firestore(app: FirebaseApp, database: String) -> Firestore {
        let key = Key(app: app.name, database: database)
        return shared.withLock { shared in
            if let firestore = shared[key] { return firestore }
            let firestore = Firestore(sharedBy: app, database: database)
            shared[key] = firestore
            return firestore
        }
    }

    private convenience init(sharedBy app: FirebaseApp, database: String) {
        let id = DatabaseID(project: app.projectID, database: database)
        var configuration = FirestoreConfiguration(
            directory: DatabaseDirectory.path(app: app.name, id))
        configuration.project = id.project
        configuration.database = id.database
        configuration.logger = .shared
        self.init(configuration, app: app, isShared: true)
    }

    /// Makes room for a new shared object in the place of this one.
    func leaveShared() {
        let key = Key(app: app.name, database: databaseID.database)
        Self.shared.withLock { shared in
            if shared[key] === self { shared[key] = nil }
        }
    }
}
