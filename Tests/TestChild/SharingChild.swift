import Foundation
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport

/// A process that shares a store until it is killed.
///
/// It prints `network` when it begins to use the network, and `heard` with the ids of the
/// collection `c` whenever its listener receives a snapshot. For each line that it reads it writes
/// the document of that id. In a local database it has no network, and prints `local` instead.
enum SharingChild {
    static func run(_ directory: String, isLocal: Bool) throws -> Never {
        var configuration = ClientConfiguration(
            storage: StoreConfiguration(directory: directory),
            databaseID: DatabaseID(project: "share-test"))
        configuration.storage.access = .shared
        configuration.isLocal = isLocal
        if !isLocal { configuration.remote = SilentRemote { say("network") } }
        let client = try Client(configuration)
        if isLocal { say("local") }
        let listener = client.listen(
            to: Query(.collection(try CollectionPath("c"))), options: ListenOptions()
        ) { result in
            guard case .success(let snapshot) = result else { return say("failed") }
            say("heard " + snapshot.documents.map(\.path.id).joined(separator: " "))
        }
        while let id = readLine() {
            client.write(
                [Mutation(.set(try Record([:])), at: try DocumentPath("c/" + id))],
                committed: { _ in }, acknowledged: { _ in })
        }
        listener.remove()
        exit(0)
    }

    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
