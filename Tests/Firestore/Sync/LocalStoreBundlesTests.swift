import HashTreeCollections
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import Testing

@Suite("Local store: bundles and named queries")
struct LocalStoreBundlesTests {
    private let fixture: LocalStoreFixture

    init() throws {
        fixture = try LocalStoreFixture()
    }

    @Test("A bundle is newer by its create time alone")
    func newerBundles() throws {
        #expect(try !fixture.local.hasNewerBundle(than: metadata(at: 5)))
        try fixture.local.save(metadata(at: 5))
        #expect(try fixture.local.hasNewerBundle(than: metadata(at: 4)))
        #expect(try fixture.local.hasNewerBundle(than: metadata(at: 5)))
        #expect(try !fixture.local.hasNewerBundle(than: metadata(at: 6)))
        #expect(try !fixture.local.hasNewerBundle(than: metadata(at: 5, id: "other")))
    }

    @Test("Documents come with their versions, and those that exist into one target")
    func documents() throws {
        try fixture.learn("c/new", ["x": 9], at: 9)
        let target = try fixture.local.allocateTarget(ofBundle: "b/1")
        #expect(try fixture.local.allocateTarget(ofBundle: "b/1") == target)
        #expect(try fixture.local.allocateTarget(ofBundle: "b").id == target.id + 2)
        let changes = try fixture.local.applyBundledDocuments(
            [
                reading("c/a", ["x": 1], at: 3), reading("c/new", ["x": 1], at: 3),
                reading("c/gone", nil, at: 4),
            ], targetID: target.id)
        #expect(changes.map(\.path.string) == ["c/a", "c/gone"])
        #expect(try fixture.view("c/a")?.readTime == SnapshotVersion(seconds: 3))
        #expect(try fixture.view("c/gone")?.state == .absent)
        #expect(try fixture.view("c/new")?.fields == ["x": 9])
        #expect(try keys(target) == ["c/a", "c/new"])
        try fixture.local.setDocuments(
            [DocumentPath("c/b"), DocumentPath("c/a")], ofTarget: target.id)
        #expect(try keys(target) == ["c/a", "c/b"])
        #expect(try fixture.store.check().isClean)
    }

    @Test("A named query comes back with its limit and orders as they were")
    func namedQueries() throws {
        let field = try FieldPath("a")
        let queries = [
            Query(.group("g")),
            Query(
                .collection(try CollectionPath("c")), filters: [.equal(field, 1)],
                orders: [Order(field, isDescending: true)], limit: .last(3),
                start: Bound([1], isInclusive: true), end: Bound([2], isInclusive: false)),
            Query(.collection(try CollectionPath("c")), orders: [Order(field)], limit: .first(2)),
            Query(.document(try DocumentPath("c/a"))),
        ]
        for (number, query) in queries.enumerated() {
            let named = NamedQuery(
                name: "q\(number)", query: query, readTime: SnapshotVersion(seconds: 7))
            _ = try fixture.local.save(named, documents: [])
            let found = try #require(try fixture.local.namedQuery("q\(number)"))
            #expect(found.name == "q\(number)" && found.query == query)
            #expect(found.query.explicitOrders == query.explicitOrders)
            #expect(found.query.start == query.start && found.query.end == query.end)
            #expect(found.readTime == SnapshotVersion(seconds: 7))
        }
        #expect(try fixture.local.namedQuery("q9") == nil)
        #expect(try fixture.local.namedQuery("") == nil)
        #expect(try fixture.local.namedQuery(String(repeating: "x", count: 9999)) == nil)
    }

    @Test("A named query's target goes on from its read time, unless it is further")
    func readTimes() throws {
        let query = Query(.collection(try CollectionPath("c")))
        let (a, b) = (try DocumentPath("c/a"), try DocumentPath("c/b"))
        var data = try fixture.local.save(named(query, at: 5), documents: [a])
        #expect(data.id == 2 && data.snapshotVersion == SnapshotVersion(seconds: 5))
        #expect(try keys(data) == ["c/a"] && fixture.local.targetData(2) == data)
        data.resumeToken = [1]
        data.snapshotVersion = SnapshotVersion(seconds: 8)
        try fixture.local.releaseTarget(data)
        #expect(try fixture.local.save(named(query, at: 7), documents: [b]) == data)
        #expect(try keys(data) == ["c/a"])
        #expect(try fixture.local.namedQuery("q")?.readTime == SnapshotVersion(seconds: 7))
        data = try fixture.local.save(named(query, at: 9), documents: [b])
        #expect(data.resumeToken == [] && data.snapshotVersion == SnapshotVersion(seconds: 9))
        #expect(try keys(data) == ["c/b"])
    }

    @Test("an active target may be further than what is stored of it")
    func activeTargets() throws {
        let query = Query(.collection(try CollectionPath("c")))
        var data = try fixture.local.allocateTarget(query.target)
        data.resumeToken = [1]
        data.snapshotVersion = SnapshotVersion(seconds: 8)
        let known = try fixture.local.save(
            named(query, at: 7), documents: [DocumentPath("c/a")], active: data)
        #expect(known == data)
        #expect(try keys(data) == [])
    }

    private func named(_ query: Query, at seconds: Int64) -> NamedQuery {
        NamedQuery(name: "q", query: query, readTime: SnapshotVersion(seconds: seconds))
    }

    private func metadata(at seconds: Int64, id: String = "bundle") -> BundleMetadata {
        BundleMetadata(
            id: id, createTime: SnapshotVersion(seconds: seconds), version: 1, totalDocuments: 0,
            totalBytes: 0)
    }

    private func reading(_ path: String, _ fields: MapValue?, at seconds: Int64) throws
        -> DocumentReading
    {
        DocumentReading(
            path: try DocumentPath(path),
            contents: try fields.map { .found(try Record($0), createTime: nil) } ?? .absent,
            version: SnapshotVersion(seconds: seconds))
    }

    private func keys(_ target: TargetData) throws -> [String] {
        try fixture.local.remoteKeys(of: target.id).map(\.string).sorted()
    }
}
