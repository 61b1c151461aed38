import Foundation
import Larder
import LarderModel
import LarderTestSupport
import Testing

/// several users of one database.
@Suite struct UserTests {
    @Test("each user has separate pending writes; the cache is shared")
    func writes() async throws {
        let world = try World()
        try await world.set("notes/shared", ["n": 0])
        var configuration = FirestoreConfiguration.inMemory
        configuration.userID = "ada"
        let db = try world.database(configuration)
        #expect(db.userID == "ada")
        let note = db.document("notes/shared")
        #expect(try await note.getDocument().get("n") as? Int == 0)
        world.network.set(.down)
        let write = note.enqueueUpdateData(["n": 1])
        try await write.committedLocally()
        #expect(try await note.getDocument(source: .cache).get("n") as? Int == 1)

        try await db.switchUser(to: "bob")
        #expect(db.userID == "bob")
        #expect(try await db.pendingWrites().isEmpty)
        #expect(try await note.getDocument(source: .cache).get("n") as? Int == 0)
        world.network.set(.up)
        db.reconnect()
        try await db.document("notes/bob").setData(["n": 2])
        #expect(try world.fields("notes/shared") == ["n": 0])

        try await db.switchUser(to: "ada")
        // Its waiters are completed now.
        try await write.acknowledged()
        #expect(try world.fields("notes/shared") == ["n": 1])
        try await db.switchUser(to: nil)
        #expect(db.userID == nil)
        try await db.terminate()
    }

    @Test("requests are made on behalf of the user; listeners receive the differences")
    func listeners() async throws {
        let world = try World()
        let db = try world.database()
        try await db.disableNetwork()
        db.document("notes/x").enqueueSetData(["n": 1])
        var counts: [Int] = []
        for try await snapshot in db.collection("notes").snapshots {
            counts.append(snapshot.count)
            if counts == [1] { try await db.switchUser(to: "ada") }
            if counts == [1, 0] { try await db.switchUser(to: nil) }
            if counts == [1, 0, 1] { break }
        }
        #expect(counts == [1, 0, 1])
        let listener = db.collection("notes").addSnapshotListener { _, _ in }
        try await db.enableNetwork()
        // An answer on the watch stream; the write stream may be open before it.
        _ = try await db.collection("notes").getDocuments(source: .server)
        try await db.switchUser(to: "ada")
        _ = try await db.collection("notes").getDocuments(source: .server)
        #expect(world.network.users.suffix(2) == ["", "ada"])
        listener.remove()
        try await db.terminate()
    }

    @Test("waiting for pending writes ends when the user changes")
    func waiting() async throws {
        let world = try World()
        world.network.set(.down)
        let db = try world.database()
        try await db.document("a/x").enqueueSetData([:]).committedLocally()
        let ended = Recorder<Int>()
        db.waitForPendingWrites { ended.record(($0 as NSError?)?.code ?? 0) }
        try await db.switchUser(to: "ada")
        #expect(await ended.first(1) == [FirestoreErrorCode.cancelled.rawValue])
        try await db.terminate()
    }

    @Test("an id that no user has is refused")
    func invalid() async throws {
        let db = try memoryDatabase()
        for id in ["", String(repeating: "x", count: 257)] {
            #expect(await code { try await db.switchUser(to: id) } == .invalidArgument)
            var configuration = FirestoreConfiguration.inMemory
            configuration.userID = id
            #expect(
                await code { _ = try Firestore(configuration: configuration) } == .invalidArgument)
        }
        #expect(db.userID == nil)
        try await db.terminate()
        #expect(await code { try await db.switchUser(to: "ada") } == .failedPrecondition)
    }
}
