import Foundation
import Larder
import LarderBackend

/// Opens what a process left that made writes without a network, and sends them to a backend.
///
/// Prints lines of a name and a number: the writes that were `pending`, those that the backend
/// `refused`. Waits until nothing is pending; every client of the backend then sees all of it.
enum OnlineLife {
    static func run(store: String, backend directory: String) async throws {
        let backend = try Backend(
            BackendConfiguration(project: "kill-test", location: .directory(directory)))
        var configuration = FirestoreConfiguration(directory: store)
        configuration.project = "kill-test"
        configuration.backend = backend.connection
        let database = try Firestore(configuration: configuration)
        // Counted before the network has a say.
        let pending = try await database.pendingWrites()
        print("pending \(pending.count)")
        try await database.waitForPendingWrites()
        // What was acknowledged is so for good; what was refused says why.
        for write in pending {
            if case .pending = try await database.outcome(ofWrite: write.id) {
                print("write \(write.id) is pending still")
                exit(4)
            }
        }
        print("refused \(try await database.deadLetters().count)")
        try await database.terminate()
        try await backend.close()
    }
}
