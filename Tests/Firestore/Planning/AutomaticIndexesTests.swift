import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderTestSupport
import Testing

@testable import LarderPlanning

@Suite("automatic indexes")
struct AutomaticIndexesTests {
    private typealias Segment = IndexDefinition.Segment

    private func filter(_ name: String, _ op: FieldFilter.Operator, _ value: Value) throws -> Filter
    {
        .field(FieldFilter(try FieldPath(name), op, value))
    }

    private func missing(_ query: Query, in world: PlanningWorld) throws -> [IndexDefinition] {
        let execution = try world.run(query).execution
        return try world.store.read {
            try world.runner.missingIndexes(for: query, after: execution, in: $0)
        }
    }

    /// The first rooms match a == 1.
    private func world(count: Int, matching: Int) throws -> PlanningWorld {
        let world = try PlanningWorld()
        try world.putRooms(0..<count) { number in
            ["a": number < matching ? 1 : 2, "b": .integer(Int64(number))]
        }
        return world
    }

    @Test("from 100 documents scanned, and more than 3.4 for each found")
    func thresholds() throws {
        for (count, matching, expected) in [
            (99, 1, 0), (100, 1, 1), (102, 30, 0), (103, 30, 1), (100, 0, 1),
        ] {
            let world = try world(count: count, matching: matching)
            var query = Query(.collection(world.collections[0]))
            query.filters = [try filter("a", .equal, 1)]
            #expect(try missing(query, in: world).count == expected, "\(count) \(matching)")
        }
    }

    @Test("one for each way to match that has none, and it serves the query from then on")
    func eachTerm() throws {
        let world = try world(count: 300, matching: 3)
        var query = Query(.collection(world.collections[0]))
        query.filters = [.or([try filter("a", .equal, 1), try filter("b", .lessThan, 2)])]
        let (a, b) = (try FieldPath("a"), try FieldPath("b"))
        let indexes = try missing(query, in: world)
        #expect(
            indexes.map(\.segments) == [[Segment(a), Segment(b)], [Segment(b)]])
        let maintenance = IndexMaintenance(store: world.store)
        try maintenance.add(indexes)
        #expect(try missing(query, in: world).isEmpty)
        while try !maintenance.step().isComplete {}
        let execution = try world.run(query).execution
        #expect(execution.kind == .union && execution.documentsScanned == 3)
    }

    @Test("a descending order gets an index to be scanned backwards")
    func descending() throws {
        let world = try world(count: 300, matching: 3)
        var query = Query(.collection(world.collections[0]), limit: .first(5))
        query.explicitOrders = [Order(try FieldPath("b"), isDescending: true)]
        let indexes = try missing(query, in: world)
        #expect(indexes.map(\.segments) == [[Segment(try FieldPath("b"))]])
        try IndexMaintenance(store: world.store).add(indexes)
        while try !IndexMaintenance(store: world.store).step().isComplete {}
        let execution = try world.run(query).execution
        #expect(execution.kind == .indexScan && execution.documentsScanned == 5)
    }

    @Test("the switch is off at first, on for this start, or on for good")
    func persistence() throws {
        let directory = try TemporaryDirectory()
        func open() throws -> (Store, AutomaticIndexes) {
            let store = try Store(directory: directory.file("store"))
            return (store, try AutomaticIndexes(store: store))
        }
        do {
            let (store, automatic) = try open()
            #expect(!automatic.isEnabled)
            try automatic.enable()
            #expect(automatic.isEnabled)
            try store.close()
        }
        do {
            let (store, automatic) = try open()
            #expect(!automatic.isEnabled)
            try automatic.enable(persistently: true)
            try store.close()
        }
        do {
            let (store, automatic) = try open()
            #expect(automatic.isEnabled)
            try automatic.disable()
            #expect(!automatic.isEnabled)
            try store.close()
        }
        #expect(try !open().1.isEnabled)
    }
}
