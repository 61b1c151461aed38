import Dispatch
import Synchronization

/// The databases that a product shares by application object and name.
///
/// Deleting an application object ends its databases. Thread-safe.
package final class SharedDatabases<Database: AnyObject & Sendable>: Sendable {
    // By identity: a deleted object and a later one of the same name have separate databases.
    private struct Key: Hashable {
        let app: ObjectIdentifier
        let name: String
    }

    /// Ends a database; calls its last argument when that is done.
    package typealias End = @Sendable (Database, @escaping @Sendable () -> Void) -> Void

    private let product: String
    private let end: End
    private let databases = Mutex<[Key: (app: FirebaseApp, database: Database)]>([:])

    /// - Parameter product: the name of the product, which is unique in the process.
    package init(product: String, end: @escaping End) {
        self.product = product
        self.end = end
    }

    /// All databases.
    package var all: [Database] { databases.withLock { $0.values.map(\.database) } }

    /// The database of an application object with a name; makes one if there is none.
    ///
    /// That of a deleted object has ended.
    package func obtain(_ app: FirebaseApp, _ name: String, _ make: () -> Database) -> Database {
        let key = Key(app: ObjectIdentifier(app), name: name)
        let (database, isNew) = databases.withLock { databases in
            if let known = databases[key] { return (known.database, false) }
            let database = make()
            databases[key] = (app, database)
            return (database, true)
        }
        guard isNew else { return database }
        let isAlive = app.onDeletion(of: product) { [self, weak app] done in
            if let app { endAll(of: app, done) } else { done() }
        }
        if !isAlive { endAll(of: app) {} }
        return database
    }

    /// Removes a database, so that the next request makes another one.
    package func remove(_ database: Database) {
        databases.withLock { databases in
            for (key, known) in databases where known.database === database {
                databases[key] = nil
            }
        }
    }

    private func endAll(of app: FirebaseApp, _ done: @escaping @Sendable () -> Void) {
        let ended = databases.withLock { databases in
            let ended = databases.filter { $0.value.app === app }
            for key in ended.keys { databases[key] = nil }
            return ended.values.map(\.database)
        }
        let group = DispatchGroup()
        for database in ended {
            group.enter()
            end(database) { group.leave() }
        }
        group.notify(queue: .global(), execute: done)
    }
}
