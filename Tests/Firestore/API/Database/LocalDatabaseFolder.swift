import Foundation
import Larder
import LarderDocumentStore
import LarderModel
import LarderTestSupport

/// A store in a directory of its own, which is opened as a local database or otherwise.
struct LocalDatabaseFolder {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    var place: String { directory.file("store") }

    func open(
        isLocal: Bool = true, _ change: (inout FirestoreConfiguration) -> Void = { _ in }
    ) throws -> Firestore {
        var configuration = FirestoreConfiguration(directory: place)
        configuration.isLocal = isLocal
        configuration.project = "test"
        configuration.durability = .lastCommitAtRisk
        configuration.callbackQueue = DispatchQueue(label: "larder.tests.local")
        change(&configuration)
        return try Firestore(configuration: configuration)
    }

    /// What a database has, by path.
    func numbers(_ db: Firestore, _ collections: String...) async throws -> [String: Int] {
        var numbers: [String: Int] = [:]
        for collection in collections {
            for document in try await db.collection(collection).getDocuments(source: .cache)
                .documents
            {
                numbers[document.reference.path] = document.data()["n"] as? Int
            }
        }
        return numbers
    }

    func role() throws -> StoreRole? {
        let store = try Store(StoreConfiguration(directory: place))
        defer { try? store.close() }
        return try store.read { (transaction) throws(LarderError) in try transaction.role() }
    }
}
