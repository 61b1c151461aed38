import ArgumentParser
import Foundation
import Hummingbird
import Larder
import LarderBackend
import LarderGRPC
import LarderLifecycle
import Logging
import ServiceLifecycle

/// The orders of a café over HTTP, from a database on this machine.
///
/// With `FIRESTORE_EMULATOR_HOST` the database is synchronised with the server there, such as
/// `larderd`; otherwise with a backend in this process.
@main
struct OrderService: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "order-service", abstract: "Serves the orders of a café over HTTP.")

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 for any free port.")
    var port = 8081

    @Option(help: "The directory of the database.")
    var data = "order-data"

    func run() async throws {
        let logger = Logger(label: "order-service")
        var database = FirestoreConfiguration(directory: "\(data)/database")
        database.project = "cafe"
        database.logger = logger
        var services: [any Service] = []
        if ProcessInfo.processInfo.environment["FIRESTORE_EMULATOR_HOST"] != nil {
            database.connector = .cloudFirestore
        } else {
            let backend = try Backend(
                BackendConfiguration(project: "cafe", location: .directory("\(data)/backend")))
            database.backend = backend.connection
            services.append(BackendService(backend: backend))
        }
        let db = try Firestore(configuration: database)
        let orders = Orders(db: db)
        services += [db, Synchronization(orders: orders, logger: logger)]

        let application = Application(
            router: OrderRoutes(orders: orders).router(),
            configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
            services: services, logger: logger)
        // Services end in reverse order: the server, what uses the database, the database.
        try await application.runService()
    }
}

/// Keeps all orders on this machine: what a listener has received stays current in the cache.
struct Synchronization: Service {
    let orders: Orders
    let logger: Logger

    func run() async throws {
        for try await snapshot in orders.changes.cancelOnGracefulShutdown() {
            logger.debug(
                "\(snapshot.count) orders, from the cache: \(snapshot.metadata.isFromCache)")
        }
        try? await gracefulShutdown()
    }
}

/// Closes a backend in this process after the database that uses it.
struct BackendService: Service {
    let backend: Backend

    func run() async throws {
        try? await gracefulShutdown()
        try await backend.close()
    }
}
