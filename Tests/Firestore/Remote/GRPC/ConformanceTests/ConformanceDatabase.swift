import Larder
import LarderModel
import LarderRemote

/// A database that asks a scripted backend.
struct ConformanceDatabase {
    /// The database of all tests.
    static let id = DatabaseID(project: "projectID")

    let firestore: Firestore

    init(_ remote: ConformanceRemote) throws {
        var configuration = FirestoreConfiguration.inMemory
        configuration.project = Self.id.project
        configuration.backend = RemoteConnection(remote)
        firestore = try Firestore(configuration: configuration)
    }

    func close() async throws {
        try await firestore.terminate()
    }
}
