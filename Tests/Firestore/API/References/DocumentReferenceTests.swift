import Foundation
import Larder
import LarderTestSupport
import Testing

@Suite("Documents: references, writes and reads through the API")
struct DocumentReferenceTests {
    @Test("Written data is read back immediately, from the cache and by default")
    func readsOwnWrites() async throws {
        let db = try memoryDatabase()
        let city = db.document("cities/SF")
        city.enqueueSetData(["name": "San Francisco", "population": 860_000, "capital": false])
        city.enqueueUpdateData(["population": FieldValue.increment(Int64(5))])
        let cached = try await city.getDocument(source: .cache)
        #expect(cached.data()?["population"] as? Int == 860_005)
        #expect(cached.metadata.hasPendingWrites && cached.metadata.isFromCache)
        let found = try await city.getDocument()
        #expect(found.get("name") as? String == "San Francisco")
        #expect(found["capital"] as? Bool == false)
        #expect(found.documentID == "SF" && found.reference == city)
    }

    @Test("A store on disk keeps documents and pending writes")
    func survivesReopening() async throws {
        let directory = try TemporaryDirectory()
        let first = try diskDatabase(directory)
        try await first.document("a/x").enqueueSetData(["n": 1]).committedLocally()
        try await first.terminate()
        let second = try diskDatabase(directory)
        #expect(try await second.document("a/x").getDocument().get("n") as? Int == 1)
        let pending = try await second.pendingWrites()
        #expect(pending.map { $0.documents.map(\.path) } == [["a/x"]])
        #expect(pending.first?.attemptCount == 0 && pending.first?.lastError == nil)
        #expect((pending.first?.age ?? -1) >= 0)
    }

    @Test("Set, merge, merged fields, update and delete behave like Firestore's")
    func writes() async throws {
        let db = try memoryDatabase()
        let document = db.document("a/x")
        document.enqueueSetData(["a": 1, "b": ["c": 1, "d": 2]])
        document.enqueueSetData(["b": ["c": 3]], merge: true)
        var data = try await document.getDocument().data()
        #expect((data?["b"] as? [String: Any])?["d"] as? Int == 2)
        #expect((data?["b"] as? [String: Any])?["c"] as? Int == 3)
        document.enqueueSetData(["a": 9, "z": 9], mergeFields: ["a"])
        data = try await document.getDocument().data()
        #expect(data?["a"] as? Int == 9 && data?["z"] == nil)
        document.enqueueUpdateData(["b.c": FieldValue.delete(), FieldPath(["odd.name"]): 1])
        data = try await document.getDocument().data()
        #expect((data?["b"] as? [String: Any])?.keys.sorted() == ["d"])
        #expect(data?["odd.name"] as? Int == 1)
        document.enqueueDelete()
        let gone = try await document.getDocument(source: .cache)
        #expect(!gone.exists && gone.data() == nil && gone.get("a") == nil)
    }

    @Test("A get of an unknown document fails with unavailable, from every source")
    func unseen() async throws {
        let db = try memoryDatabase()
        for source in [FirestoreSource.default, .server, .cache] {
            let code = await code { _ = try await db.document("a/x").getDocument(source: source) }
            #expect(code == .unavailable, "\(source)")
        }
        db.document("a/x").enqueueSetData(["n": 1])
        #expect(
            await code { _ = try await db.document("a/x").getDocument(source: .server) }
                == .unavailable)
    }

    @Test("A get calls its completion handler on the callback queue")
    func completionQueue() async throws {
        let db = try memoryDatabase()
        let queue = db.settings.dispatchQueue
        db.document("a/x").enqueueSetData(["n": 1])
        for source in [FirestoreSource.default, .cache] {
            let number: Int? = await withCheckedContinuation { continuation in
                db.document("a/x").getDocument(source: source) { snapshot, error in
                    dispatchPrecondition(condition: .onQueue(queue))
                    #expect(error == nil)
                    continuation.resume(returning: snapshot?.get("n") as? Int)
                }
            }
            #expect(number == 1)
        }
    }

    @Test(
        "An unsound path is reported by every operation, and stops nothing",
        arguments: ["", "/", "a", "a//x", "a/b/c", "a/."])
    func unsoundDocumentPaths(path: String) async throws {
        let db = try memoryDatabase()
        let document = db.document(path)
        for source in [FirestoreSource.default, .server, .cache] {
            #expect(
                await code { _ = try await document.getDocument(source: source) }
                    == .invalidArgument)
        }
        #expect(await code { try await document.setData(["a": 1]) } == .invalidArgument)
        #expect(await code { try await document.delete() } == .invalidArgument)
        #expect(await code { try await document.evict() } == .invalidArgument)
        #expect(await code { for try await _ in document.snapshots {} } == .invalidArgument)
        let recorder = Recorder<Int>()
        let registration = document.addSnapshotListener { snapshot, error in
            #expect(snapshot == nil)
            recorder.record((error as NSError?)?.code ?? 0)
        }
        #expect(await recorder.first(1) == [FirestoreErrorCode.invalidArgument.rawValue])
        registration.remove()
        #expect(
            await code { _ = try await document.collection("c").getDocuments() }
                == .invalidArgument)
        document.setData(["a": 1], completion: { recorder.record(($0 as NSError?)?.code ?? 0) })
        #expect(await recorder.first(2).last == FirestoreErrorCode.invalidArgument.rawValue)
        #expect(try await db.pendingWrites().isEmpty)
    }

    @Test(
        "An unsound collection path is reported by every operation",
        arguments: ["", "a/b", "a//b", "a/b//c"])
    func unsoundCollectionPaths(path: String) async throws {
        let db = try memoryDatabase()
        let collection = db.collection(path)
        #expect(await code { _ = try await collection.getDocuments() } == .invalidArgument)
        #expect(await code { _ = try await collection.addDocument(data: [:]) } == .invalidArgument)
        #expect(
            await code { _ = try await collection.document("x").getDocument() }
                == .invalidArgument)
        #expect(await code { _ = try await collection.document().delete() } == .invalidArgument)
        #expect(
            await code {
                _ = try await collection.order(by: "a").limit(to: 1).getDocuments(source: .cache)
            } == .invalidArgument)
    }

    @Test("References have paths, IDs and parents")
    func references() throws {
        let db = try memoryDatabase()
        let landmark = db.document("/cities/SF/landmarks/bridge/")
        #expect(landmark.path == "cities/SF/landmarks/bridge" && landmark.documentID == "bridge")
        #expect(landmark.parent.path == "cities/SF/landmarks")
        #expect(landmark.parent.collectionID == "landmarks")
        #expect(landmark.parent.parent == db.document("cities/SF"))
        #expect(db.collection("cities").parent == nil)
        #expect(db.collection("cities").document("SF/landmarks/bridge") == landmark)
        #expect(db.document("cities/SF").collection("landmarks").document("bridge") == landmark)
        #expect(Set([landmark, landmark.parent.document("bridge")]).count == 1)
        #expect(landmark != (try memoryDatabase()).document(landmark.path))
        let new = db.collection("cities").document()
        #expect(new.documentID.count == 20 && new != db.collection("cities").document())
        #expect(db.document("a/b/c").documentID == "c" && db.document("a/b/c").path == "a/b/c")
        #expect(db.collection("a/b").collectionID == "b")
    }

    @Test("Invalid data is rejected by handle, handler and async form")
    func refusedData() async throws {
        let db = try memoryDatabase()
        let document = db.document("a/x")
        #expect(await code { try await document.setData(["": 1]) } == .invalidArgument)
        #expect(await code { try await document.setData(["a": [[1]]]) } == .invalidArgument)
        #expect(await code { try await document.updateData(["a..b": 1]) } == .invalidArgument)
        #expect(
            await code { try await document.setData(["a": 1], mergeFields: ["b"]) }
                == .invalidArgument)
        let write = document.enqueueSetData(["a": FieldValue.delete()])
        #expect(await code { try await write.committedLocally() } == .invalidArgument)
        #expect(await code { try await write.acknowledged() } == .invalidArgument)
        let error: NSError? = await withCheckedContinuation { continuation in
            document.setData(["a": FieldValue.delete()]) {
                continuation.resume(returning: $0 as NSError?)
            }
        }
        #expect(error?.domain == FirestoreErrorDomain && error?.code == 3)
        let other = try memoryDatabase().document("b/y")
        #expect(try await db.pendingWrites().isEmpty)
        _ = other
    }

    @Test("A stored reference is read as one of the same database")
    func storedReferences() async throws {
        let db = try memoryDatabase()
        let target = db.document("b/y")
        db.document("a/x").enqueueSetData(["r": target])
        let read = try await db.document("a/x").getDocument().get("r") as? DocumentReference
        #expect(read == target)
        var configuration = FirestoreConfiguration.inMemory
        configuration.project = "other"
        let foreign = try Firestore(configuration: configuration).document("b/y")
        #expect(
            await code { try await db.document("a/x").setData(["r": foreign]) }
                == .invalidArgument)
        #expect(
            await code { try await db.document("a/x").setData(["r": db.document("b")]) }
                == .invalidArgument)
    }

    @Test("Added documents get unique IDs")
    func adding() async throws {
        let db = try memoryDatabase()
        let added = db.collection("a").enqueueAddDocument(data: ["n": 1])
        try await added.write.committedLocally()
        #expect(try await added.document.getDocument().get("n") as? Int == 1)
        #expect(added.document.parent == db.collection("a"))
    }
}
