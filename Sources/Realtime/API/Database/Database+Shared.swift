import Foundation
public import LarderApp
import LarderCore
import LarderRealtimeModel
import LarderRuntime

extension Database {
    /// An encoder of `Encodable` types to data for ``DatabaseReference/setValue(_:withCompletionBlock:)``.
    public typealias Encoder = DatabaseEncoder

    /// A decoder of `Decodable` types from data of snapshots.
    public typealias Decoder = DatabaseDecoder

    private static let shared = SharedDatabases<Database>(product: "Database") { database, done in
        database.connection.close { _ in done() }
    }

    /// The shared default database of the default application object.
    ///
    /// Every call returns the same object until it is closed. The database is that of
    /// `FirebaseOptions.databaseURL`, otherwise of the URL
    /// `https://PROJECT-default-rtdb.firebaseio.com`. With ``isPersistenceEnabled`` its store is
    /// in `LARDER_DIRECTORY`, else in `larder` in `XDG_DATA_HOME`, else in
    /// `~/.local/share/larder`, followed by the project, the name of an application object other
    /// than the default one, and the database.
    public static func database() -> Database {
        database(app: .configuredDefault)
    }

    /// The shared database of a URL and the default application object.
    public static func database(url: String) -> Database {
        database(app: .configuredDefault, url: url)
    }

    /// The shared default database of an application object.
    public static func database(app: FirebaseApp) -> Database {
        if let url = app.databaseURL { return database(app: app, url: url) }
        return shared(app, DatabaseLocation(project: app.projectID).url(of: .root), nil)
    }

    /// The shared database of a URL and an application object.
    ///
    /// If the URL is invalid or has a path, every operation on the database fails with
    /// `invalidArgument`.
    public static func database(app: FirebaseApp, url: String) -> Database {
        let name = (try? DatabaseLocation(url: url))?.url(of: .root) ?? url
        return shared(app, name, url)
    }

    private static func shared(_ app: FirebaseApp, _ name: String, _ url: String?) -> Database {
        shared.obtain(app, name) { Database(sharedBy: app, url: url) }
    }

    private convenience init(sharedBy app: FirebaseApp, url: String?) {
        var configuration = DatabaseConfiguration(storage: .memoryWithoutUnused)
        configuration.project = app.projectID
        configuration.url = url
        configuration.logger = .realtimeShared
        configuration.isShared = true
        let namespace = (try? configuration.location.get())?.namespace ?? "invalid"
        configuration.defaultDirectory = StoreDirectory.path(
            app: app.name, in: app.projectID,
            named: "realtime." + StoreDirectory.fileName(namespace))
        self.init(configuration, app: app, isShared: true)
    }

    /// All shared databases.
    static var allShared: [Database] {
        shared.all
    }

    // MARK: The end

    /// Closes the database: ends all observers and the connection, and closes the store.
    ///
    /// Pending writes stay in the store. All later calls fail with `failedPrecondition`; for a
    /// shared database, ``database()`` returns a new object. A second call succeeds.
    public func close(completion: (((any Error)?) -> Void)? = nil) {
        let completion = Transferred(completion)
        let callbacks = callbacks
        end { result in
            callbacks.add { completion.value?(result.databaseError) }
        }
    }

    /// Closes the database: ends all observers and the connection, and closes the store.
    ///
    /// See ``close(completion:)``.
    ///
    /// - Throws: errors of closing the store.
    public nonisolated(nonsending) func close() async throws {
        do throws(LarderError) {
            try await answer { end($0) }
        } catch {
            throw DatabaseError(error)
        }
    }

    private func end(_ done: @escaping Completion<Void>) {
        // Only then may another object open the same store.
        connection.close { [self] result in
            Self.shared.remove(self)
            done(result)
        }
    }
}

extension Result where Failure == LarderError {
    /// The error as applications see it; nil for a success.
    var databaseError: DatabaseError? {
        if case .failure(let error) = self { DatabaseError(error) } else { nil }
    }
}
