import HashTreeCollections
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import OrderedCollections
import Testing

@Suite("Local store: eviction by hand")
struct LocalStoreEvictionTests {
    private let fixture: LocalStoreFixture
    private let version = SnapshotVersion(seconds: 7)

    init() throws {
        fixture = try LocalStoreFixture()
    }

    @Test("Documents go, but for those with pending writes of any user")
    func pending() throws {
        for path in ["c/a", "c/b", "c/d"] { try fixture.learn(path, ["x": 1], at: 1) }
        try fixture.write(.update("c/a", ["x": 2]))
        _ = try LocalStoreFixture.local(fixture.store, "bob").write([
            fixture.pending([.update("c/b", ["x": 3])])
        ])
        let evicted = try fixture.local.evict(documents("c/a", "c/b", "c/d"))
        #expect(evicted.changes.map(\.path.string) == ["c/d"] && evicted.keptCount == 2)
        #expect(evicted.changes[0].before?.fields == ["x": 1] && evicted.changes[0].after == nil)
        #expect(evicted.freedBytes > 0 && evicted.targetIDs.isEmpty)
        #expect(try fixture.view("c/d") == nil)
    }

    @Test("Targets that held a document that goes are known no more, others are as before")
    func targets() throws {
        let (c, d) = (try told("c", of: "c/a", "c/b"), try told("d", of: "d/a"))
        let evicted = try fixture.local.evict(documents("c/a"))
        #expect(evicted.targetIDs == [c.id])
        #expect(try fixture.local.targetData(c.id) == TargetData(id: c.id, target: c.target))
        #expect(try fixture.local.remoteKeys(of: c.id) == [])
        #expect(try fixture.local.targetData(d.id) == d)
        #expect(try Set(fixture.local.remoteKeys(of: d.id).map(\.string)) == ["d/a"])
        #expect(try fixture.local.allocateTarget(c.target).id == c.id)
        #expect(try fixture.store.check().isClean)
    }

    /// A collection's target of which the backend has told everything.
    private func told(_ collection: String, of paths: String...) throws -> TargetData {
        let data = try fixture.local.allocateTarget(
            Query(.collection(CollectionPath(collection))).target)
        var event = RemoteEvent(version: version)
        for path in try paths.map({ try DocumentPath($0) }) {
            event.documents[path] = DocumentReading(
                path: path, contents: .found(try Record(["x": 1]), createTime: nil),
                version: version)
        }
        event.targets[data.id] = RemoteTargetChange(
            resumeToken: [1], isCurrent: true, added: Set(event.documents.keys))
        return try #require(try fixture.local.apply(event, to: [data.id: data]).targets[data.id])
    }

    private func documents(_ paths: String...) throws -> [Document] {
        try paths.map { try #require(try fixture.view($0)) }
    }
}
