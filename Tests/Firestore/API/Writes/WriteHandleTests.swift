import Foundation
import Larder
import LarderTestSupport
import Testing

@Suite("Write handles: local commit, acknowledgement, pending writes, cancelling")
struct WriteHandleTests {
    @Test("A write without acknowledgement is committed locally and listed as pending")
    func stages() async throws {
        let db = try memoryDatabase()
        let write = db.document("a/x").enqueueSetData(["n": 1])
        let id = try await write.committedLocally()
        #expect(id != nil && write.batchID == id)
        let pending = try await db.pendingWrites()
        #expect(pending.map(\.id) == [id])
        #expect(pending.first?.documents == [db.document("a/x")])
        let waiting = Task { await code { try await write.acknowledged() } }
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
        #expect(try await db.pendingWrites().count == 1)
    }

    @Test("A pending write is described on one line, with its first changes and its last error")
    func descriptions() async throws {
        let world = try World()
        let db = try world.database()
        try await db.disableNetwork()
        let batch = db.batch()
        batch.setData(["n": 1], forDocument: db.document("a/1"))
        batch.setData(["n": 1], forDocument: db.document("a/2"), merge: true)
        batch.updateData(["n": 1], forDocument: db.document("a/1"))
        try await batch.enqueueCommit().committedLocally()
        batchOfDeletes(5, db).enqueueCommit()
        let pending = try await db.pendingWrites()
        #expect(
            pending.map(\.description) == [
                "pending write \(pending[0].id) of \(pending[0].writeTime): "
                    + "set a/1, merge a/2, update a/1",
                "pending write \(pending[1].id) of \(pending[1].writeTime): "
                    + "delete a/1, delete a/2, delete a/3 and 2 more",
            ])
        world.network.refuseWrites(
            with: Array(repeating: LarderError(.unavailable, "busy"), count: 100))
        var updates = db.pendingWriteUpdates.makeAsyncIterator()
        try await db.enableNetwork()
        var first = pending[0]
        while first.attemptCount == 0, let next = try await updates.next() { first = next[0] }
        let attempts =
            first.attemptCount == 1 ? "1 failed attempt" : "\(first.attemptCount) failed attempts"
        #expect("\(first)".hasSuffix("update a/1; \(attempts); last error: busy"), "\(first)")
        try await db.terminate()
    }

    private func batchOfDeletes(_ count: Int, _ db: Firestore) -> WriteBatch {
        let batch = db.batch()
        for number in 1...count { batch.deleteDocument(db.document("a/\(number)")) }
        return batch
    }

    @Test("A cancelled write has no effect")
    func cancelling() async throws {
        let db = try memoryDatabase()
        let first = db.document("a/x").enqueueSetData(["n": 1])
        let second = db.document("a/x").enqueueSetData(["n": 2])
        #expect(try await second.cancel())
        #expect(try await db.document("a/x").getDocument().get("n") as? Int == 1)
        #expect(await code { try await second.acknowledged() } == .cancelled)
        #expect(try await !second.cancel())
        let id = try #require(try await first.committedLocally())
        #expect(try await db.cancelPendingWrite(id))
        #expect(try await !db.cancelPendingWrite(id))
        #expect(await code { _ = try await db.document("a/x").getDocument() } == .unavailable)
        try await db.waitForPendingWrites()
    }

    @Test("The list of pending writes is delivered after each change")
    func pendingWriteUpdates() async throws {
        let db = try memoryDatabase()
        var counts: [Int] = []
        var updates = db.pendingWriteUpdates.makeAsyncIterator()
        counts.append(try await updates.next()?.count ?? -1)
        let write = db.document("a/x").enqueueSetData(["n": 1])
        counts.append(try await updates.next()?.count ?? -1)
        try await write.cancel()
        counts.append(try await updates.next()?.count ?? -1)
        #expect(counts == [0, 1, 0])
    }

    @Test("A batch is one pending write, and an empty one completes immediately")
    func batches() async throws {
        let db = try memoryDatabase()
        let batch = db.batch()
        batch.setData(["n": 1], forDocument: db.document("a/x"))
            .setData(["m": 1], forDocument: db.document("a/x"), merge: true)
            .setData(["n": 1, "o": 1], forDocument: db.document("a/y"), mergeFields: ["n"])
            .updateData(["n": 2], forDocument: db.document("a/x"))
            .deleteDocument(db.document("a/z"))
        let write = batch.enqueueCommit()
        try await write.committedLocally()
        let pending = try await db.pendingWrites()
        #expect(pending.map { $0.documents.map(\.documentID) } == [["x", "y", "z"]])
        let x = try await db.document("a/x").getDocument()
        #expect(x.get("n") as? Int == 2 && x.get("m") as? Int == 1)
        #expect(try await db.document("a/y").getDocument().data()?.keys.sorted() == ["n"])
        try await db.batch().commit()
        #expect(try await db.batch().enqueueCommit().committedLocally() == nil)
        #expect(await code { try await batch.commit() } == .failedPrecondition)
        batch.setData(["n": 3], forDocument: db.document("a/x"))
        #expect(try await db.document("a/x").getDocument().get("n") as? Int == 2)
    }

    @Test("A batch with one invalid write writes nothing")
    func refusedBatches() async throws {
        let db = try memoryDatabase()
        let other = try memoryDatabase()
        let refusals: [(WriteBatch) -> Void] = [
            { $0.setData(["": 1], forDocument: db.document("a/y")) },
            { $0.deleteDocument(db.document("a")) },
            { $0.deleteDocument(other.document("a/y")) },
        ]
        for refuse in refusals {
            let batch = db.batch()
            batch.setData(["n": 1], forDocument: db.document("a/x"))
            refuse(batch)
            #expect(await code { try await batch.commit() } == .invalidArgument)
        }
        #expect(await code { _ = try await db.document("a/x").getDocument() } == .unavailable)
    }

    @Test("Waiting for pending writes returns immediately only if there are none")
    func waitingForPendingWrites() async throws {
        let db = try memoryDatabase()
        try await db.waitForPendingWrites()
        let write = db.document("a/x").enqueueSetData(["n": 1])
        try await write.committedLocally()
        let waiting = Task { await code { try await db.waitForPendingWrites() } }
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
        let done = Recorder<Bool>()
        db.waitForPendingWrites { done.record($0 == nil) }
        try await write.cancel()
        #expect(await done.first(1) == [true])
    }

    @Test("Cancelling a write calls its completion handler on the callback queue")
    func handlers() async throws {
        let db = try memoryDatabase()
        let queue = db.settings.dispatchQueue
        let heard = Recorder<Int>()
        db.document("a/x").setData(["n": 1]) { error in
            dispatchPrecondition(condition: .onQueue(queue))
            heard.record((error as NSError?)?.code ?? 0)
        }
        let id = try #require(try await db.pendingWrites().first?.id)
        try await db.cancelPendingWrite(id)
        #expect(await heard.first(1) == [FirestoreErrorCode.cancelled.rawValue])
    }
}

@Suite("Deallocation of databases")
struct LettingGoTests {
    @Test("A store closes when its database is deallocated, even with pending writes")
    func lettingGo() async throws {
        let directory = try TemporaryDirectory()
        for round in 0..<3 {
            let database = try await Self.open(directory)
            #expect(try await database.pendingWrites().count == 2 * round)
            let document = database.document("c/d")
            try await document.enqueueSetData(["n": round]).committedLocally()
            document.setData(["n": round + 1]) { _ in }
            _ = try await document.getDocument(source: .cache)
            _ = try await database.collection("c").getDocuments()
            for try await _ in document.snapshots { break }
        }
    }

    @Test("A read-only database that watches the file is deallocated, too")
    func lettingGoOfReader() async throws {
        let directory = try TemporaryDirectory()
        try await Self.open(directory).collection("c").document("d")
            .enqueueSetData(["n": 1]).committedLocally()
        // Opened and let go, so that the store is closed.
        _ = try await Self.open(directory)
        do {
            var configuration = FirestoreConfiguration(directory: directory.file("store"))
            configuration.access = .readOnly
            let reader = try await Self.open { try Firestore(configuration: configuration) }
            let snapshot = try await reader.collection("c").getDocuments(source: .cache)
            #expect(snapshot.count == 1)
            try await reader.disableNetwork()
        }
        _ = try await Self.open(directory)
    }

    /// Opens the store once the last object has let it go, which happens on its own queue.
    private static func open(_ directory: TemporaryDirectory) async throws -> Firestore {
        try await open { try diskDatabase(directory) }
    }

    private static func open(_ make: () throws -> Firestore) async throws -> Firestore {
        let end = ContinuousClock.now + .seconds(120)
        while true {
            do {
                return try make()
            } catch let error as LarderError
                where error.kind == .failedPrecondition && ContinuousClock.now < end
            {
                await Task.yield()
            }
        }
    }

    @Test("coded values are written with handles: added, and field by field")
    func codedValues() async throws {
        struct City: Codable {
            var name: String
            var population: Int
        }
        let db = try memoryDatabase()
        let (document, write) = try db.collection("cities")
            .enqueueAddDocument(from: City(name: "San Francisco", population: 1))
        try await write.committedLocally()
        let change = City(name: "other", population: 2)
        try await document.enqueueSetData(from: change, mergeFields: ["population"])
            .committedLocally()
        let city = try await document.getDocument(as: City.self, source: .cache)
        #expect(city.name == "San Francisco" && city.population == 2)
        try await db.terminate()
    }
}
