import HashTreeCollections
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import Testing

@Suite("Local store: targets")
struct LocalStoreTargetsTests {
    private let fixture: LocalStoreFixture

    init() throws {
        fixture = try LocalStoreFixture()
    }

    @Test("Ids are even and rise; equal targets share theirs, also after a restart")
    func allocating() throws {
        let (c, d) = (try target("c"), try target("d"))
        let first = try fixture.local.allocateTarget(c)
        #expect(first == TargetData(id: 2, target: c) && first.purpose == .listen)
        #expect(try fixture.local.allocateTarget(d).id == 4)
        #expect(try fixture.local.allocateTarget(c).id == 2)
        #expect(
            try fixture.local.allocateTargets([d, target("e"), c, target("e")]).map(\.id)
                == [4, 6, 2, 6])
    }

    @Test("A removed target's id is not used again")
    func removing() throws {
        let (c, d) = (try target("c"), try target("d"))
        #expect(try fixture.local.allocateTarget(c).id == 2)
        #expect(try fixture.local.allocateTarget(d).id == 4)
        #expect(try fixture.local.removeTarget(4))
        #expect(try !fixture.local.removeTarget(4))
        #expect(try fixture.local.targetData(4) == nil)
        #expect(try fixture.local.allocateTarget(d).id == 6)
    }

    @Test("Targets with equal canonical ids are distinguished")
    func collisions() throws {
        let field = try FieldPath("a")
        let (number, text) = (
            try target("c", .equal(field, 3)), try target("c", .equal(field, "3"))
        )
        #expect(number.canonicalID == text.canonicalID)
        let ids = try fixture.local.allocateTargets([number, text, number]).map(\.id)
        #expect(ids == [2, 4, 2])
        #expect(try fixture.local.targetData(4)?.target == text)
    }

    @Test("a canonical id beyond what the store takes is no obstacle")
    func longCanonicalIDs() throws {
        let field = try FieldPath("a")
        let text = String(repeating: "é", count: 5000)
        let targets = try ["x", "y"].map {
            try target("c", .equal(field, .string(text + $0)))
        }
        #expect(try fixture.local.allocateTargets(targets).map(\.id) == [2, 4])
        #expect(try fixture.local.allocateTargets(targets).map(\.id) == [2, 4])
    }

    @Test("finding a target writes nothing")
    func finding() throws {
        let target = try target("c")
        _ = try fixture.local.allocateTarget(target)
        let commit = try fixture.store.statistics().commitNumber
        _ = try fixture.local.allocateTarget(target)
        #expect(try fixture.store.statistics().commitNumber == commit)
    }

    @Test("What is known of a target in memory is saved when its last listener goes")
    func releasing() throws {
        var data = try fixture.local.allocateTarget(target("c"))
        data.resumeToken = [1, 2]
        data.snapshotVersion = SnapshotVersion(seconds: 9)
        data.limboFreeVersion = SnapshotVersion(seconds: 8)
        #expect(try fixture.local.targetData(2)?.resumeToken == [])
        try fixture.local.releaseTarget(data)
        #expect(try fixture.local.targetData(2) == data)
        #expect(try fixture.local.allocateTarget(target("c")) == data)
    }

    @Test("a target that is stored no longer is not stored again by its release")
    func releasingRemoved() throws {
        let data = try fixture.local.allocateTarget(target("c"))
        try fixture.local.removeTarget(data.id)
        try fixture.local.releaseTarget(data)
        #expect(try fixture.local.targetData(data.id) == nil)
    }

    @Test("a target's documents are given whether they are cached or not")
    func remoteKeys() throws {
        let data = try fixture.local.allocateTarget(target("c"))
        let paths = try ["c/a", "c/b"].map { try DocumentPath($0) }
        try fixture.learn("c/a", ["x": 1], at: 1)
        try fixture.store.write { try $0.changeDocuments(ofTarget: data.id, adding: paths) }
        #expect(try fixture.local.remoteKeys(of: data.id) == TreeSet(paths))
        #expect(try fixture.local.remoteKeys(of: 8).isEmpty)
    }

    @Test("A disk that fails is an error of each call, and nothing is changed")
    func guarding() throws {
        let data = try fixture.local.allocateTarget(target("c"))
        for operation in [LocalOperation.allocateTarget, .releaseTarget, .readTarget] {
            let local = fixture.local(refusing: operation)
            let calls: [() throws -> Void] = [
                { _ = try local.allocateTarget(data.target) },
                { try local.releaseTarget(data) },
                { _ = try local.targetData(data.id) },
            ]
            let failures = calls.filter { call in
                do {
                    try call()
                    return false
                } catch { return true }
            }
            #expect(failures.count == 1, "\(operation)")
        }
    }

    private func target(_ collection: String, _ filter: Filter? = nil) throws -> QueryTarget {
        Query(
            .collection(try CollectionPath(collection)), filters: filter.map { [$0] } ?? []
        ).target
    }
}

extension Filter {
    static func equal(_ path: FieldPath, _ value: Value) -> Filter {
        .field(FieldFilter(path, .equal, value))
    }
}
