import Foundation
import Larder
import LarderBackend

/// Increments a counter of a backend on disk until the process is killed.
///
/// Each batch also adds a document, so that there are as many documents as increments. Prints a line
/// for each batch that is durable.
enum CountingLife {
    static func run(store: String, backend directory: String) async throws {
        let backend = try Backend(
            BackendConfiguration(project: "kill-test", location: .directory(directory)))
        var configuration = FirestoreConfiguration(directory: store)
        configuration.project = "kill-test"
        configuration.backend = backend.connection
        let database = try Firestore(configuration: configuration)
        let collection = database.collection("counted")
        while true {
            var handles: [WriteHandle] = []
            for _ in 0..<8 {
                let batch = database.batch()
                batch.setData(
                    ["n": FieldValue.increment(Int64(1))], forDocument: collection.document("sum"),
                    merge: true)
                batch.setData([:], forDocument: collection.document())
                handles.append(batch.enqueueCommit())
            }
            for handle in handles {
                try await handle.committedLocally()
                FileHandle.standardOutput.write(Data("counted\n".utf8))
            }
        }
    }
}
