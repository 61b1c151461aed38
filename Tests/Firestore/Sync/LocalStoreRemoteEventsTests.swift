import HashTreeCollections
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import OrderedCollections
import Testing

@Suite("Local store: remote events")
struct LocalStoreRemoteEventsTests {
    private let fixture: LocalStoreFixture
    private let target: TargetData

    init() throws {
        fixture = try LocalStoreFixture()
        target = try fixture.local.allocateTarget(
            Query(.collection(CollectionPath("c"))).target)
    }

    @Test("An event brings documents, the target's documents and its token in one commit")
    func applying() throws {
        let applied = try apply(
            at: 1000, token: [1], added: ["c/a", "c/b"], [("c/b", ["x": 2]), ("c/a", ["x": 1])])
        #expect(applied.changes.map(\.path.string) == ["c/a", "c/b"])
        #expect(applied.changes[0].before == nil)
        #expect(applied.changes[0].after?.fields == ["x": 1])
        #expect(applied.changes[0].after?.readTime == SnapshotVersion(seconds: 1000))
        let data = try #require(applied.targets[target.id])
        #expect(data.resumeToken == [1] && data.snapshotVersion == SnapshotVersion(seconds: 1000))
        #expect(try fixture.local.targetData(target.id) == data)
        #expect(try keys() == ["c/a", "c/b"])
        #expect(
            try fixture.local.lastRemoteSnapshotVersion() == SnapshotVersion(seconds: 1000))
    }

    @Test("Documents leave the target, and stay in the cache")
    func removing() throws {
        try apply(at: 1, token: [1], added: ["c/a", "c/b"], [("c/a", [:]), ("c/b", [:])])
        try apply(at: 2, token: [2], added: ["c/d"], removed: ["c/a", "c/x"])
        #expect(try keys() == ["c/b", "c/d"])
        #expect(try fixture.view("c/a")?.exists == true)
    }

    @Test("A token of less than 5 minutes is kept in memory, an older one is saved")
    func minutes() throws {
        var known = [target.id: target]
        for (seconds, saved) in [
            (1000, 1000), (1200, 1000), (1299, 1000), (1300, 1300), (1500, 1300),
        ]
            as [(Int64, Int64)]
        {
            known = try apply(at: seconds, token: [UInt8(seconds / 100)], to: known).targets
            #expect(known[target.id]?.snapshotVersion == SnapshotVersion(seconds: seconds))
            let stored = try fixture.local.targetData(target.id)
            #expect(stored?.snapshotVersion == SnapshotVersion(seconds: saved))
            #expect(stored?.resumeToken == [UInt8(saved / 100)])
        }
        // With documents it is saved at once.
        known = try apply(at: 1501, token: [9], modified: ["c/a"], to: known).targets
        #expect(try fixture.local.targetData(target.id)?.resumeToken == [9])
    }

    @Test("A count that does not agree takes token and versions away")
    func mismatch() throws {
        var known = try apply(at: 1000, token: [1], added: ["c/a"], [("c/a", [:])]).targets
        known[target.id]?.limboFreeVersion = SnapshotVersion(seconds: 1000)
        var event = RemoteEvent(version: SnapshotVersion(seconds: 1001))
        event.targets[target.id] = RemoteTargetChange(resumeToken: [2], removed: try paths(["c/a"]))
        event.mismatches[target.id] = .existenceFilterMismatch
        let data = try #require(
            try fixture.local.apply(event, to: known).targets[target.id])
        #expect(data == target)
        #expect(try fixture.local.targetData(target.id) == target)
        #expect(try keys() == [])
    }

    @Test("what an event says of targets that are not active is passed over")
    func inactive() throws {
        let applied = try apply(at: 1, token: [1], added: ["c/a"], [("c/a", [:])], to: [:])
        #expect(applied.targets.isEmpty && applied.changes.count == 1)
        #expect(try keys() == [] && fixture.local.targetData(target.id) == target)
    }

    @Test("a target that was evicted stays known in memory, and is not stored again")
    func evicted() throws {
        try fixture.local.removeTarget(target.id)
        let applied = try apply(at: 1, token: [1], added: ["c/a"], [("c/a", [:])])
        #expect(applied.targets[target.id]?.resumeToken == [1])
        #expect(try fixture.local.targetData(target.id) == nil)
        #expect(try fixture.view("c/a")?.exists == true)
    }

    @Test("The last snapshot never goes back; an event without one leaves it")
    func snapshots() throws {
        #expect(try fixture.local.lastRemoteSnapshotVersion().isNone)
        for (version, last) in [(5, 5), (4, 5), (0, 5), (6, 6)] as [(Int64, Int64)] {
            let event = RemoteEvent(version: SnapshotVersion(seconds: version))
            _ = try fixture.local.apply(event, to: [:])
            #expect(
                try fixture.local.lastRemoteSnapshotVersion() == SnapshotVersion(seconds: last))
        }
    }

    @Test("A document that cannot be resolved is forgotten")
    func forgetting() throws {
        try apply(at: 1, token: [1], added: ["c/a"], [("c/a", ["x": 1])])
        let path = try DocumentPath("c/a")
        let event = RemoteEvent(
            version: .none,
            documents: [path: DocumentReading(path: path, contents: .absent, version: .none)],
            resolvedLimboDocuments: [path])
        let applied = try fixture.local.apply(event, to: [:])
        #expect(applied.changes.count == 1 && applied.changes[0].after == nil)
        #expect(try fixture.view("c/a") == nil)
        #expect(try fixture.local.lastRemoteSnapshotVersion() == SnapshotVersion(seconds: 1))
    }

    @Test("That a target was free of limbo is stored with what is said of it next")
    func limboFree() throws {
        var known = try apply(at: 1000, token: [1], added: ["c/a"], [("c/a", [:])]).targets
        known[target.id]?.limboFreeVersion = SnapshotVersion(seconds: 1000)
        #expect(try fixture.local.targetData(target.id)?.limboFreeVersion.isNone == true)
        known = try apply(at: 1001, token: [2], modified: ["c/a"], to: known).targets
        #expect(
            try fixture.local.targetData(target.id)?.limboFreeVersion
                == SnapshotVersion(seconds: 1000))
    }

    @Test("A disk that fails leaves everything as it was")
    func guarding() throws {
        let event = RemoteEvent(version: SnapshotVersion(seconds: 1))
        let local = fixture.local(refusing: .applyRemoteEvent)
        #expect(throws: LarderError.self) { try local.apply(event, to: [:]) }
        #expect(try fixture.local.lastRemoteSnapshotVersion().isNone)
        #expect(throws: LarderError.self) {
            try fixture.local(refusing: .readSnapshotVersion).lastRemoteSnapshotVersion()
        }
    }

    @discardableResult
    private func apply(
        at seconds: Int64, token: [UInt8], added: [String] = [], modified: [String] = [],
        removed: [String] = [], _ documents: [(String, MapValue)] = [],
        to targets: [Int32: TargetData]? = nil
    ) throws -> AppliedRemoteEvent {
        let version = SnapshotVersion(seconds: seconds)
        var event = RemoteEvent(version: version)
        event.targets[target.id] = RemoteTargetChange(
            resumeToken: token, isCurrent: true, added: try paths(added),
            modified: try paths(modified), removed: try paths(removed))
        for (path, fields) in documents {
            let path = try DocumentPath(path)
            event.documents[path] = DocumentReading(
                path: path, contents: .found(try Record(fields), createTime: nil),
                version: version)
        }
        return try fixture.local.apply(event, to: targets ?? [target.id: target])
    }

    private func paths(_ texts: [String]) throws -> Set<DocumentPath> {
        Set(try texts.map { try DocumentPath($0) })
    }

    private func keys() throws -> [String] {
        try fixture.local.remoteKeys(of: target.id).map(\.string).sorted()
    }
}
