import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderTestSupport
import Testing

@testable import LarderPlanning

@Suite("index configuration and maintenance")
struct IndexMaintenanceTests {
    private typealias Segment = IndexDefinition.Segment

    private func definition(_ segments: Segment...) -> IndexDefinition {
        IndexDefinition(collectionGroup: "rooms", segments: segments)
    }

    @Test("the command-line tools' JSON is parsed, and unknown members are ignored")
    func json() throws {
        let configuration = try IndexConfiguration(
            json: """
                {"indexes": [
                  {"collectionGroup": "rooms", "queryScope": "COLLECTION", "density": "SPARSE_ALL",
                   "fields": [{"fieldPath": "a.b", "order": "ASCENDING"},
                              {"fieldPath": "`odd.name`", "order": "DESCENDING"},
                              {"fieldPath": "tags", "arrayConfig": "CONTAINS"},
                              {"fieldPath": "__name__", "order": "ASCENDING"}]},
                  {"collectionGroup": "rooms", "fields": [{"fieldPath": "v",
                   "vectorConfig": {"dimension": 3, "flat": {}}}]}],
                 "fieldOverrides": [{"anything": 1}]}
                """)
        let expected = definition(
            Segment(try FieldPath("a", "b")), Segment(try FieldPath("odd.name"), .descending),
            Segment(try FieldPath("tags"), .contains))
        #expect(configuration.indexes == [expected])
        #expect(try IndexConfiguration(json: #"{"indexes": []}"#).indexes == [])
        #expect(expected.text == "rooms(a.b ASC, `odd.name` DESC, tags CONTAINS)")
    }

    @Test("characters of all planes are read, escaped or not")
    func planes() throws {
        var random = SeededRandom()
        for _ in 0..<100 {
            let (group, field) = (random.nameOfAllPlanes(), random.nameOfAllPlanes())
            let configuration = try IndexConfiguration(
                json: #"{"indexes":[{"collectionGroup":\#(random.json(group)),"fields":[{"#
                    + #""fieldPath":\#(random.json("`\(field)`")),"order":"ASCENDING"}]}]}"#)
            let index = try #require(configuration.indexes.first, "\(random)")
            #expect(index.collectionGroup.utf8.elementsEqual(group.utf8), "\(random)")
            #expect(try index.segments.map(\.path) == [FieldPath(field)], "\(random)")
        }
    }

    @Test(
        "what is wrong in the JSON is an error that says so",
        arguments: [
            ("{\"indexes\": ", "not valid JSON"), ("", "not valid JSON"), ("[]", "object"),
            (#"{"indexes": {}}"#, "'indexes'"), (#"{"indexes": [1]}"#, "indexes[0]"),
            (#"{"indexes": [{"fields": []}]}"#, "'collectionGroup'"),
            (#"{"indexes": [{"collectionGroup": "c"}]}"#, "'fields'"),
            (
                #"{"indexes": [{"collectionGroup": "c", "fields": [{"order": "ASCENDING"}]}]}"#,
                "'fieldPath'"
            ),
            (
                #"{"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a", "order": "UP"}]}]}"#,
                "'order'"
            ),
            (
                #"{"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a"}]}]}"#,
                "'order'"
            ),
            (
                #"{"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a..b", "order": "ASCENDING"}]}]}"#,
                "a..b"
            ),
            (
                #"{"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a", "arrayConfig": "ALL"}]}]}"#,
                "'arrayConfig'"
            ),
        ])
    func badJSON(json: String, message: String) throws {
        let error = #expect(throws: LarderError.self) { try IndexConfiguration(json: json) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test("a configuration replaces the last: equal ones stay, others go, new ones come")
    func configure() throws {
        let world = try PlanningWorld()
        try world.putRooms(0..<100) { _ in ["a": 1, "b": 2, "c": 3] }
        let maintenance = IndexMaintenance(store: world.store)
        let (a, b, c) = (
            definition(Segment(try FieldPath("a"))), definition(Segment(try FieldPath("b"))),
            definition(Segment(try FieldPath("c")))
        )
        try maintenance.configure(IndexConfiguration([a, b, a]))
        while try !maintenance.step().isComplete {}
        let kept = try #require(try maintenance.indexes().first { $0.definition == b })
        #expect(kept.isComplete && kept.entryCount == 100)
        try maintenance.configure(IndexConfiguration([b, c]))
        let now = try maintenance.indexes()
        #expect(now.map(\.definition) == [b, c] && now[0] == kept && !now[1].isComplete)
        var steps = 1
        while try !maintenance.step(maxDocuments: 30, maxMicroseconds: 0).isComplete { steps += 1 }
        // 99 entries to drop and 100 documents to index, 30 at a time.
        #expect(steps >= 7)
        try maintenance.configure(IndexConfiguration([]))
        while try !maintenance.step().isComplete {}
        #expect(try maintenance.indexes().isEmpty)
        #expect(try world.store.statistics().indexes.rowCount == 0)
        #expect(try world.store.check().isClean)
    }

    @Test("filling goes on after the store was closed, and only then queries use the index")
    func resumes() throws {
        let directory = try TemporaryDirectory()
        let rooms = try CollectionPath("rooms")
        let a = try FieldPath("a")
        let query = Query(
            .collection(rooms), filters: [.field(FieldFilter(a, .equal, 3))])
        func run(_ store: Store) throws -> QueryExecution {
            let runner = QueryRunner(
                user: .unauthenticated, databaseID: DatabaseID(project: "p"),
                indexes: IndexCatalog())
            return try store.read { try runner.run(query, in: $0) }.execution
        }
        do {
            let store = try Store(directory: directory.file("store"))
            try store.write { transaction in
                for number in 0..<200 {
                    try transaction.put(
                        Record(["a": .integer(Int64(number % 20))]),
                        at: rooms.document("d\(number)"), version: .none)
                }
            }
            let maintenance = IndexMaintenance(store: store)
            try maintenance.configure(IndexConfiguration([definition(Segment(a))]))
            let step = try maintenance.step(maxDocuments: 50, maxMicroseconds: 0)
            #expect(!step.isComplete && step.filled?.doneCount == 50)
            #expect(step.filled?.totalCount == 200)
            #expect(try run(store).kind == .collectionScan)
            try store.close()
        }
        let store = try Store(directory: directory.file("store"))
        let maintenance = IndexMaintenance(store: store)
        #expect(try maintenance.indexes().contains { !$0.isComplete })
        let step = try maintenance.step(maxDocuments: 50, maxMicroseconds: 0)
        #expect(step.filled?.doneCount == 100)
        while try !maintenance.step(maxDocuments: 50, maxMicroseconds: 0).isComplete {}
        #expect(try maintenance.indexes().allSatisfy(\.isComplete))
        let execution = try run(store)
        #expect(execution.kind == .indexScan && execution.documentsScanned == 10)
    }

    @Test("a catalogue follows indexes that come and go")
    func catalog() throws {
        let world = try PlanningWorld()
        let a = try FieldPath("a")
        try world.putRooms(0..<50) { ["a": .integer(Int64($0))] }
        let query = Query(
            .collection(world.collections[0]), filters: [.field(FieldFilter(a, .equal, 3))])
        #expect(try world.run(query).execution.kind == .collectionScan)
        try world.index(Segment(a))
        #expect(try world.run(query).execution.kind == .indexScan)
        try IndexMaintenance(store: world.store).configure(IndexConfiguration([]))
        #expect(try world.run(query).execution.kind == .collectionScan)
    }
}
