import Foundation
import Larder
import LarderModel
import Testing

@Suite("Conditions of writes, and times of snapshots")
struct WriteConditionTests {
    @Test("A document is created once: again, the backend refuses, and the local effect is undone")
    func create() async throws {
        let world = try World()
        let db = try world.database()
        let document = db.document("cities/SF")
        try await document.create(["name": "San Francisco"])
        #expect(await code { try await document.create(["name": "Other"]) } == .alreadyExists)
        #expect(try world.fields("cities/SF") == ["name": "San Francisco"])
        let cached = try await document.getDocument(source: .cache)
        #expect(cached.get("name") as? String == "San Francisco")
        #expect(try await db.deadLetters().count == 1)
    }

    @Test("A write in the meantime makes a conditional update and delete fail")
    func updateTime() async throws {
        let world = try World()
        let db = try world.database()
        let document = db.document("cities/SF")
        try await document.setData(["population": 1])
        let before = try #require(try await document.getDocument(source: .server).updateTime)
        try await document.enqueueUpdateData(["population": 2], onlyIf: .updated(at: before))
            .acknowledged()
        let stale = await code {
            try await document.enqueueUpdateData(["population": 3], onlyIf: .updated(at: before))
                .acknowledged()
        }
        #expect(stale == .failedPrecondition)
        #expect(
            await code {
                try await document.enqueueDelete(onlyIf: .updated(at: before)).acknowledged()
            } == .failedPrecondition)
        #expect(try world.fields("cities/SF") == ["population": 2])
        let now = try #require(try await document.getDocument(source: .server).updateTime)
        #expect(now > before)
        try await document.enqueueDelete(onlyIf: .updated(at: now)).acknowledged()
        #expect(try world.fields("cities/SF") == nil)
    }

    @Test("A condition that fails refuses the whole batch")
    func batches() async throws {
        let world = try World()
        let db = try world.database()
        let (old, new) = (db.document("cities/OLD"), db.document("cities/NEW"))
        try await old.setData(["name": "Old"])
        let refused = db.batch().create(["name": "Other"], forDocument: old)
            .setData(["name": "New"], forDocument: new)
        #expect(await code { try await refused.commit() } == .alreadyExists)
        #expect(try world.fields("cities/NEW") == nil)
        let missing = db.batch().setData(["name": "New"], forDocument: new, onlyIf: .exists)
        #expect(await code { try await missing.commit() } == .notFound)
        try await db.batch().create(["name": "New"], forDocument: new)
            .updateData(["name": "Older"], forDocument: old, onlyIf: .exists)
            .commit()
        #expect(try world.fields("cities/NEW") == ["name": "New"])
        #expect(try world.fields("cities/OLD") == ["name": "Older"])
        try await db.batch().deleteDocument(old, onlyIf: .exists).commit()
        #expect(try world.fields("cities/OLD") == nil)
    }

    @Test("Offline, a condition that does not hold in the cache leaves the local view as it is")
    func offline() async throws {
        let db = try memoryDatabase()
        let document = db.document("cities/SF")
        document.enqueueCreate(["name": "San Francisco"])
        document.enqueueCreate(["name": "Other"])
        document.enqueueUpdateData(
            ["name": "Later"], onlyIf: .updated(at: Timestamp(seconds: 1, nanoseconds: 0)))
        let snapshot = try await document.getDocument(source: .cache)
        #expect(snapshot.get("name") as? String == "San Francisco")
        let pending = try await db.pendingWrites()
        #expect(pending.map { $0.changes.map(\.kind) } == [[.set], [.set], [.update]])
    }

    @Test("Snapshots have the backend's times, and none for what is pending")
    func times() async throws {
        let world = try World()
        let db = try world.database()
        let document = db.document("cities/SF")
        try await world.set("cities/SF", ["population": 1])
        try await world.set("cities/SF", ["population": 2])
        let snapshot = try await document.getDocument(source: .server)
        let (created, updated) = (snapshot.createTime, snapshot.updateTime)
        #expect(try #require(created) < #require(updated))
        #expect(try #require(snapshot.readTime) >= #require(updated))
        try await db.disableNetwork()
        document.enqueueUpdateData(["population": 3])
        db.document("cities/NEW").enqueueSetData(["population": 1])
        let pending = try await document.getDocument(source: .cache)
        #expect(pending.updateTime == nil && pending.readTime != nil)
        let new = try await db.document("cities/NEW").getDocument(source: .cache)
        #expect(new.createTime == nil && new.updateTime == nil && new.readTime == nil)
    }

    @Test("The create time of an acknowledged create is known without reading the document again")
    func createTime() async throws {
        let world = try World()
        let db = try world.database()
        let document = db.document("cities/SF")
        try await document.create(["population": 1])
        let created = try await document.getDocument(source: .cache)
        #expect(created.createTime != nil && created.createTime == created.updateTime)
        try await document.updateData(["population": 2])
        let updated = try await document.getDocument(source: .cache)
        #expect(updated.createTime == created.createTime)
        #expect(try #require(updated.updateTime) > #require(updated.createTime))
        // A set may have replaced a document of another client.
        let other = db.document("cities/LA")
        try await other.setData(["population": 1])
        #expect(try await other.getDocument(source: .cache).createTime == nil)
        #expect(try await other.getDocument(source: .server).createTime != nil)
        #expect(try await other.getDocument(source: .cache).createTime != nil)
        try await db.terminate()
    }
}
