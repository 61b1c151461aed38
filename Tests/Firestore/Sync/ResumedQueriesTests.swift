import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport
import Testing

/// What a query that is listened to again begins with.
@Suite("Queries that are listened to again")
struct ResumedQueriesTests {
    private let world: SharingWorld
    private let query: Query

    init() throws {
        world = try SharingWorld()
        var query = try Query.all("c")
        query.filters = [.field(FieldFilter(try FieldPath("n"), .lessThan, .integer(3)))]
        self.query = query
        let a = try world.open("a")
        // All of the collection is cached, a small part of it is in the query.
        a.listen("all", try .all("c"))
        a.listen("some", query)
        world.settle()
        a.write(try (0..<400).map { try .set("c/\($0)", $0) })
        world.settle()
        #expect(a["some"].documents.count == 3)
        a.unlisten("some")
        a.unlisten("all")
        world.close(a)
    }

    private var target: Target? {
        get throws {
            try world.store.read { (transaction) throws(LarderError) in
                let id = try transaction.targetIDs(
                    withCanonicalID: query.target.canonicalID
                ).first
                return try id.flatMap { (id) throws(LarderError) in try transaction.target(id) }
            }
        }
    }

    private func put(_ path: String, _ number: Int64, learnedAt version: SnapshotVersion) throws {
        let record = try Record(["n": .integer(number)])
        try world.store.write { transaction throws(LarderError) in
            try transaction.put(
                record, at: try DocumentPath(path), version: version, readTime: version)
        }
    }

    /// The IDs in a new listener's first snapshot, before the backend answers.
    private func first() throws -> [String] {
        let b = try world.open("b")
        b.listen("some", query)
        b.scheduler.drain()
        return b["some"].documents.keys.map(\.id).sorted()
    }

    @Test("the target is stored with the snapshot at which no document was in limbo")
    func stored() throws {
        let target = try #require(try target)
        #expect(target.limboFreeVersion > .none)
        #expect(target.limboFreeVersion == target.snapshotVersion)
    }

    @Test("it begins with the target's documents, and what was learned since")
    func begins() throws {
        let version = try #require(try target).limboFreeVersion
        // The backend has said that there was no such document then.
        try put("c/old", 1, learnedAt: SnapshotVersion(seconds: 1))
        let later = Timestamp(seconds: version.timestamp.seconds + 1, nanoseconds: 0)
        try put("c/new", 1, learnedAt: SnapshotVersion(later))
        // What is no longer of the query, and what is pending.
        try put("c/2", 7, learnedAt: SnapshotVersion(later))
        let offline = try world.open("w")
        offline.write([try .set("c/pending", 0)])
        offline.scheduler.drain()
        let names = try first()
        #expect(names == ["0", "1", "new", "pending"])
    }

    @Test("a target with documents in limbo is not noted")
    func limbo() throws {
        let version = try #require(try target).limboFreeVersion
        let later = Timestamp(seconds: version.timestamp.seconds + 1, nanoseconds: 0)
        // In the cache it matches; the backend does not have it.
        try put("c/stray", 1, learnedAt: SnapshotVersion(later))
        let b = try world.open("b")
        b.listen("some", query)
        b.scheduler.drain()
        #expect(b["some"].documents.count == 4)
        #expect(b["some"].last?.isFromCache == true)
        #expect(try target?.limboFreeVersion == version)
        // The backend's next snapshot is later than what the cache has.
        world.clock.advance(by: .seconds(5))
        b.write([try .set("c/other", 100)])
        world.settle()
        #expect(b["some"].documents.count == 3)
        #expect(b["some"].last?.isFromCache == false)
    }

    @Test("what has vanished at the backend leaves in a few snapshots")
    func vanished() throws {
        let version = try #require(try target).limboFreeVersion
        let later = Timestamp(seconds: version.timestamp.seconds + 1, nanoseconds: 0)
        for number in 0..<1_000 {
            try put("c/stray\(number)", 1, learnedAt: SnapshotVersion(later))
        }
        let b = try world.open("b")
        b.listen("some", query)
        b.scheduler.drain()
        #expect(b["some"].documents.count == 1_003)
        let count = b["some"].count
        // The backend's next snapshot is later than what the cache has.
        world.clock.advance(by: .seconds(5))
        b.write([try .set("c/other", 100)])
        world.settle()
        #expect(b["some"].documents.count == 3)
        #expect(b["some"].last?.isFromCache == false)
        // A hundred documents are asked for at a time.
        #expect(b["some"].count - count <= 40)
    }
}
