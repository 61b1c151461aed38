import Foundation
import Larder
import LarderTestSupport
import Synchronization

/// Makes the writes of a script until it is killed, and prints the number of each that is
/// durable.
///
/// With the arguments `share DIRECTORY` it is a ``SharingChild``, with `share-local` one of a local
/// database. Otherwise the arguments are the
/// store's directory, the seed, how many writes are there already. Now and then it
/// waits until nothing is under way and compares what its listener has heard with a new query; a
/// difference ends it with status 3. With `online`, a store's and a backend's directory it does
/// what ``OnlineLife`` says instead, with `count` and the same what ``CountingLife`` says.
@main
struct LarderTestChild {
    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 3, arguments[1].hasPrefix("share") {
            try SharingChild.run(arguments[2], isLocal: arguments[1] == "share-local")
        }
        if arguments.count == 4, arguments[1] == "online" {
            return try await OnlineLife.run(store: arguments[2], backend: arguments[3])
        }
        if arguments.count == 4, arguments[1] == "count" {
            return try await CountingLife.run(store: arguments[2], backend: arguments[3])
        }
        guard arguments.count == 4, let seed = UInt64(arguments[2]), let done = Int(arguments[3])
        else {
            print(
                "usage: LarderTestChild DIRECTORY SEED DONE, LarderTestChild share DIRECTORY "
                    + "or LarderTestChild online|count STORE BACKEND")
            exit(64)
        }
        var configuration = FirestoreConfiguration(directory: arguments[1])
        configuration.project = "kill-test"
        let database = try Firestore(configuration: configuration)
        let collection = database.collection("documents")

        let heard = Mutex<[String: WriteScript.Fields]?>(nil)
        let listener = collection.addSnapshotListener { snapshot, _ in
            let documents = snapshot?.documents ?? []
            let state = documents.map { ($0.documentID, fields(of: $0.data())) }
            heard.withLock { $0 = Dictionary(uniqueKeysWithValues: state) }
        }

        var script = WriteScript(seed: seed)
        for _ in 0..<done { _ = script.next() }
        var number = done
        var handles: [WriteHandle] = []
        while true {
            number += 1
            let handle = enqueue(script.next(), collection, database)
            handles.append(handle)
            report(number, handle)
            guard handles.count == 32 else { continue }
            // Nothing is under way after this.
            for handle in handles { try await finish(handle) }
            handles = []
            try await compare(collection, heard)
            _ = listener
        }
    }

    private static func enqueue(
        _ step: WriteScript.Step, _ collection: CollectionReference, _ database: Firestore
    ) -> WriteHandle {
        switch step {
        case .set(let id, let number, let text):
            return collection.document(id).enqueueSetData(["number": number, "text": text])
        case .update(let id, let number):
            return collection.document(id).enqueueUpdateData(["number": number])
        case .batch(let ids, let number):
            let batch = database.batch()
            for id in ids {
                batch.setData(["number": number], forDocument: collection.document(id))
            }
            return batch.enqueueCommit()
        case .increment(let id, let amount):
            return collection.document(id).enqueueSetData(
                ["number": FieldValue.increment(Int64(amount))], merge: true)
        case .delete(let id):
            return collection.document(id).enqueueDelete()
        }
    }

    /// Waits until a write is durable, or refused: a local database has no document to update.
    private static func finish(_ handle: WriteHandle) async throws {
        do throws(LarderError) {
            try await handle.committedLocally()
        } catch {
            guard error.kind == .notFound else { throw error }
        }
    }

    private static func report(_ number: Int, _ handle: WriteHandle) {
        Task {
            try await finish(handle)
            FileHandle.standardOutput.write(Data("\(number)\n".utf8))
        }
    }

    private static func fields(of data: [String: Any]) -> WriteScript.Fields {
        WriteScript.Fields(number: data["number"] as? Int, text: data["text"] as? String)
    }

    /// Waits until the listener has received everything; its last snapshot is then the result.
    private static func compare(
        _ collection: CollectionReference, _ heard: borrowing Mutex<[String: WriteScript.Fields]?>
    ) async throws {
        // A second listener is served after all events of the first one.
        let now = try await collection.getDocuments(source: .cache)
        for try await _ in collection.snapshots { break }
        // The first one's events arrive on the main queue; all of them are there by now.
        await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
        let there = Dictionary(
            uniqueKeysWithValues: now.documents.map { ($0.documentID, fields(of: $0.data())) })
        if heard.withLock({ $0 }) != there {
            let state = heard.withLock { $0 }.map { "\($0)" } ?? "nothing"
            print("the listener's state differs from the query's: \(state), not \(there)")
            exit(3)
        }
    }
}
