import Foundation
import Larder
import LarderTestSupport
import Testing

@Suite("Listeners through the API")
struct ListenerRegistrationTests {
    @Test("The first snapshot adds everything, later ones contain changes with indexes")
    func changes() async throws {
        let db = try memoryDatabase()
        let items = db.collection("a")
        items.document("x").enqueueSetData(["n": 1])
        items.document("y").enqueueSetData(["n": 2])
        let heard = Recorder<QuerySnapshot>()
        let registration = items.order(by: "n").addSnapshotListener { snapshot, error in
            if let snapshot { heard.record(snapshot) }
            #expect(error == nil)
        }
        let first = await heard.first(1)[0]
        #expect(first.documents.map(\.documentID) == ["x", "y"])
        #expect(first.documentChanges.map(\.type) == [.added, .added])
        #expect(first.documentChanges.map(\.newIndex) == [0, 1])
        #expect(first.documentChanges.allSatisfy { $0.oldIndex == UInt(NSNotFound) })
        #expect(first.metadata.isFromCache && first.metadata.hasPendingWrites)
        items.document("x").enqueueUpdateData(["n": 3])
        let second = await heard.first(2)[1]
        let change = try #require(second.documentChanges.first)
        #expect(second.documents.map(\.documentID) == ["y", "x"])
        #expect(change.type == .modified && change.oldIndex == 0 && change.newIndex == 1)
        #expect(change.document.get("n") as? Int == 3)
        items.document("y").enqueueDelete()
        let third = await heard.first(3)[2]
        let removal = try #require(third.documentChanges.first)
        #expect(removal.type == .removed && removal.oldIndex == 0)
        #expect(removal.newIndex == UInt(NSNotFound) && removal.document.get("n") as? Int == 2)
        #expect(third.documentChanges(includeMetadataChanges: true) == third.documentChanges)
        registration.remove()
        registration.remove()
    }

    @Test("Removed on the callback queue, a listener is not called again")
    func removal() async throws {
        let db = try memoryDatabase()
        let document = db.document("a/x")
        let heard = Recorder<Int>()
        let queue = db.settings.dispatchQueue
        let box = Recorder<any ListenerRegistration>()
        let registration = document.addSnapshotListener { snapshot, _ in
            dispatchPrecondition(condition: .onQueue(queue))
            heard.record(snapshot?.get("n") as? Int ?? -1)
            if snapshot?.get("n") as? Int == 1 { box.elements.first?.remove() }
        }
        box.record(registration)
        _ = await heard.first(1)
        try await document.enqueueSetData(["n": 1]).committedLocally()
        try await document.enqueueSetData(["n": 2]).committedLocally()
        #expect(await heard.first(2).last == 1)
        try await document.enqueueSetData(["n": 3]).committedLocally()
        _ = try await document.getDocument(source: .cache)
        await db.drainCallbacks()
        #expect(heard.elements == [-1, 1])
    }

    @Test("A document listener reports absence, creation and deletion")
    func documents() async throws {
        let db = try memoryDatabase()
        let document = db.document("a/x")
        let heard = Recorder<DocumentSnapshot>()
        let registration = document.addSnapshotListener { snapshot, error in
            if let snapshot { heard.record(snapshot) }
        }
        #expect(await !heard.first(1)[0].exists)
        try await document.enqueueSetData(["n": 1]).committedLocally()
        let second = await heard.first(2)[1]
        #expect(second.exists && second.metadata.hasPendingWrites && second.reference == document)
        try await document.enqueueDelete().committedLocally()
        let third = await heard.first(3)[2]
        // a deleted document has no pending writes to show.
        #expect(!third.exists && !third.metadata.hasPendingWrites && third.documentID == "x")
        registration.remove()
    }

    @Test("A sequence delivers every snapshot in order, and ends when its task is cancelled")
    func sequences() async throws {
        let db = try memoryDatabase()
        let items = db.collection("a")
        let heard = Recorder<Int>()
        let task = Task {
            for try await snapshot in items.snapshots { heard.record(snapshot.count) }
            return "ended"
        }
        #expect(await heard.first(1) == [0])
        for number in 1...5 {
            try await items.document("d\(number)").enqueueSetData([:]).committedLocally()
        }
        #expect(await heard.first(6) == [0, 1, 2, 3, 4, 5])
        task.cancel()
        #expect(try await task.value == "ended")
    }

    @Test("Unconsumed snapshots are buffered in order, with consecutive changes")
    func buffering() async throws {
        let db = try memoryDatabase()
        let items = db.collection("a")
        var snapshots = items.order(by: "n").snapshots.makeAsyncIterator()
        for number in 0..<10 {
            try await items.document("d\(number)").enqueueSetData(["n": -number]).committedLocally()
        }
        var ids: [String] = []
        while ids.count < 10, let snapshot = try await snapshots.next() {
            for change in snapshot.documentChanges {
                if change.oldIndex != UInt(NSNotFound) { ids.remove(at: Int(change.oldIndex)) }
                if change.newIndex != UInt(NSNotFound) {
                    ids.insert(change.document.documentID, at: Int(change.newIndex))
                }
            }
            #expect(ids == snapshot.documents.map(\.documentID))
        }
        #expect(ids == (0..<10).reversed().map { "d\($0)" })
    }

    @Test("Options select source and metadata changes, and are immutable")
    func options() async throws {
        let plain = SnapshotListenOptions()
        let options = plain.withSource(.cache).withIncludeMetadataChanges(true)
        #expect(plain.source == .default && !plain.includeMetadataChanges)
        #expect(options.source == .cache && options.includeMetadataChanges)
        let db = try memoryDatabase()
        var snapshots = db.collection("a").snapshots(options: options).makeAsyncIterator()
        let first = try #require(try await snapshots.next())
        #expect(first.isEmpty && first.metadata.isFromCache)
        #expect(first.documentChanges(includeMetadataChanges: true).isEmpty)
    }

    @Test("The snapshots-in-sync listener is called initially and after each delivered change")
    func inSync() async throws {
        let db = try memoryDatabase()
        let order = Recorder<String>()
        let listener = db.document("a/x").addSnapshotListener { snapshot, _ in
            order.record("snapshot")
        }
        _ = await order.first(1)
        let sync = db.addSnapshotsInSyncListener { order.record("sync") }
        _ = await order.first(2)
        try await db.document("a/x").enqueueSetData(["n": 1]).committedLocally()
        #expect(await order.first(4) == ["snapshot", "sync", "snapshot", "sync"])
        sync.remove()
        listener.remove()
    }

    @Test("Callbacks run on a custom queue")
    func queue() async throws {
        let queue = DispatchQueue(label: "mine")
        var configuration = FirestoreConfiguration.inMemory
        configuration.callbackQueue = queue
        let db = try Firestore(configuration: configuration)
        #expect(db.settings.dispatchQueue === queue)
        let heard = Recorder<Bool>()
        let registration = db.document("a/x").addSnapshotListener { _, _ in
            dispatchPrecondition(condition: .onQueue(queue))
            heard.record(true)
        }
        _ = await heard.first(1)
        registration.remove()
    }
}
