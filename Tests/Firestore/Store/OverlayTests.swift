import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("Overlays and the local view")
struct OverlayTests {
    private let store: Store
    private let alice = UserID("alice")
    private let bob = UserID("bob")
    private let cities: CollectionPath

    init() throws {
        store = try Store(.inMemory())
        cities = try CollectionPath("cities")
        let (cities, alice) = (cities, alice)
        try store.write { transaction in
            for id in ["a", "b", "c"] {
                try transaction.put(Record(["n": 1]), at: cities.document(id), version: .at(5))
            }
            try transaction.putOverlay(
                Record(["n": 2]), payload: [9], at: cities.document("a"), of: alice,
                largestBatchID: 7)
            try transaction.putOverlay(
                nil, at: cities.document("b"), of: alice, largestBatchID: 8)
            try transaction.putOverlay(
                Record(["n": 4]), at: cities.document("d"), of: alice, largestBatchID: 8)
        }
    }

    @Test("the local view of a document has version none and local mutations")
    func localView() throws {
        try store.read { transaction in
            let seen = try transaction.document(at: cities.document("a"), asSeenBy: alice)
            #expect(seen?.fields == ["n": 2])
            #expect(seen?.version == SnapshotVersion.none)
            #expect(seen?.hasLocalMutations == true && seen?.hasPendingWrites == true)
            #expect(seen?.largestBatchID == 7)
            let plain = try transaction.document(at: cities.document("a"))
            #expect(plain?.fields == ["n": 1] && plain?.hasLocalMutations == false)
            let other = try transaction.document(at: cities.document("a"), asSeenBy: bob)
            #expect(other == plain)
            let deleted = try transaction.document(at: cities.document("b"), asSeenBy: alice)
            #expect(deleted?.state == .absent && deleted?.hasLocalMutations == true)
        }
    }

    @Test("an overlay keeps its payload and batch")
    func payload() throws {
        try store.read { transaction in
            let overlay = try transaction.overlay(at: cities.document("a"), of: alice)
            #expect(overlay?.payload == [9] && overlay?.largestBatchID == 7)
            #expect(overlay?.document.fields == ["n": 2])
            #expect(overlay?.document.path == (try cities.document("a")))
            #expect(try transaction.overlay(at: cities.document("a"), of: bob) == nil)
            #expect(try transaction.overlay(at: cities.document("c"), of: alice) == nil)
        }
    }

    private func documents(_ source: DocumentSource, _ options: ScanOptions) throws -> [Document] {
        try store.read { transaction in
            try transaction.allDocuments(in: source, options: options)
        }
    }

    @Test("a scan of the local view merges overlays in, in name order")
    func mergedScan() throws {
        func rows(_ user: UserID?) throws -> [String] {
            try documents(.collection(cities), ScanOptions(user: user)).map {
                "\($0.id) \($0.fields)"
            }
        }
        #expect(try rows(alice) == ["a {n: 2}", "c {n: 1}", "d {n: 4}"])
        #expect(try rows(bob) == ["a {n: 1}", "b {n: 1}", "c {n: 1}"])
        #expect(try rows(nil) == rows(bob))
    }

    @Test("overlays are scanned by collection since a batch, by group and by batch")
    func overlayScans() throws {
        func ids(_ source: DocumentSource) throws -> [String] {
            try documents(source, ScanOptions(includesAllStates: true)).map(\.id)
        }
        #expect(try ids(.overlays(of: alice, in: cities)) == ["a", "b", "d"])
        #expect(try ids(.overlays(of: alice, in: cities, sinceBatch: 7)) == ["b", "d"])
        #expect(try ids(.overlays(of: alice, inGroup: "cities")) == ["a", "b", "d"])
        #expect(try ids(.overlays(of: alice, savedUnder: 8)) == ["b", "d"])
        #expect(try ids(.overlays(of: bob, in: cities)) == [])
    }

    @Test("overlays go one by one or by batch, and the documents show again")
    func removal() throws {
        try store.write { transaction in
            #expect(try transaction.removeOverlay(at: cities.document("a"), of: alice))
            #expect(try !transaction.removeOverlay(at: cities.document("a"), of: alice))
            #expect(try transaction.removeOverlays(savedUnder: 8, of: alice) == 2)
            #expect(try transaction.removeOverlays(savedUnder: 8, of: alice) == 0)
            let seen = try transaction.allDocuments(
                in: .collection(cities), options: ScanOptions(user: alice))
            #expect(seen.map(\.id) == ["a", "b", "c"])
            #expect(seen.allSatisfy { !$0.hasLocalMutations })
        }
        #expect(try store.statistics().overlays.rowCount == 0)
    }
}
