import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderTestSupport
import Testing

@testable import LarderPlanning

@Suite("which plan answers which query")
struct PlannerTests {
    private typealias Segment = IndexDefinition.Segment
    private let world: PlanningWorld
    private let rooms: CollectionPath
    private let a: FieldPath
    private let b: FieldPath
    private let tags: FieldPath

    /// 400 rooms with a in 0..<40, b unique, tags of two.
    init() throws {
        world = try PlanningWorld()
        rooms = world.collections[0]
        (a, b, tags) = (try FieldPath("a"), try FieldPath("b"), try FieldPath("tags"))
        try world.putRooms(0..<400) { number in
            [
                "a": .integer(Int64(number % 40)), "b": .integer(Int64(number)),
                "c": .string(number % 2 == 0 ? "even" : "odd"),
                "tags": [.integer(Int64(number % 50)), .string("t\(number % 20)")],
            ]
        }
    }

    private func query(
        _ filters: [Filter] = [], _ orders: [Order] = [], limit: Query.Limit? = nil,
        start: Bound? = nil, end: Bound? = nil
    ) -> Query {
        Query(
            .collection(rooms), filters: filters, orders: orders, limit: limit, start: start,
            end: end)
    }

    private func filter(_ path: FieldPath, _ op: FieldFilter.Operator, _ value: Value) -> Filter {
        .field(FieldFilter(path, op, value))
    }

    private func run(_ query: Query) throws -> QueryExecution {
        let result = try world.run(query)
        #expect(result.documents.map(\.path) == NaiveEvaluator(query).documents(among: world.view))
        #expect(result.execution.documentsReturned == result.documents.count)
        return result.execution
    }

    @Test("an index serves a collection of pending writes alone")
    func pendingOnly() throws {
        let world = try PlanningWorld()
        for number in 0..<300 {
            try world.overlay(
                try rooms.document("r\(number)"), ["a": .integer(Int64(number % 100))])
        }
        try world.index(Segment(a, .ascending))
        let execution = try world.run(query([filter(a, .equal, 3)])).execution
        #expect(execution.kind == .indexScan)
        #expect(execution.documentsScanned == 3)
    }

    @Test("without an index the collection is scanned, and explain says so")
    func scan() throws {
        let execution = try run(query([filter(a, .equal, 3)]))
        #expect(execution.kind == .collectionScan && execution.indexes.isEmpty)
        #expect(execution.documentsScanned == 400 && execution.documentsReturned == 10)
        #expect(execution.bytesRead > 400)
        #expect(execution.description == "collection scan of rooms, in order")
        #expect(execution.considered.count == 1 && execution.considered[0].isChosen)
    }

    @Test("a document query and names that are given are looked up")
    func lookups() throws {
        let path = try rooms.document("r7")
        let execution = try run(Query(.document(path)))
        #expect(execution.kind == .documentLookup && execution.documentsScanned == 1)
        let names: [Value] = try ["r9", "r3", "none"].map {
            world.reference(try rooms.document($0))
        }
        let several = try run(query([filter(.documentID, .in, .array(names))]))
        #expect(several.kind == .documentLookup && several.documentsScanned == 2)
        let one = try run(query([filter(.documentID, .equal, names[0]), filter(a, .equal, 9)]))
        #expect(one.kind == .documentLookup && one.documentsScanned == 1)
        let none = try run(
            query([filter(.documentID, .equal, names[0]), filter(.documentID, .equal, names[1])]))
        #expect(none.kind == .nothing && none.documentsScanned == 0)
    }

    @Test("a range of names reads that range; with a limit no more than it says")
    func nameRanges() throws {
        let (from, to) = (
            world.reference(try rooms.document("r10")), world.reference(try rooms.document("r12"))
        )
        let range = try run(
            query([
                filter(.documentID, .greaterThanOrEqual, from), filter(.documentID, .lessThan, to),
            ]))
        #expect(range.kind == .nameRange)
        #expect(range.documentsScanned == range.documentsReturned && range.documentsReturned == 22)
        let page = try run(
            query(
                [], [Order(.documentID)], limit: .first(5), start: Bound([from], isInclusive: false)
            ))
        #expect(page.kind == .nameRange && page.documentsScanned == 5)
        let last = try run(query([], [Order(.documentID)], limit: .last(5)))
        #expect(last.kind == .collectionScan && last.documentsScanned == 5)
        let descending = try run(
            query([], [Order(.documentID, isDescending: true)], limit: .first(3)))
        #expect(descending.documentsScanned == 3)
    }

    @Test("equality, ranges, != and array-contains go through an index and read the matches only")
    func indexScans() throws {
        let index = try world.index(Segment(a))
        try world.index(Segment(tags, .contains))
        let equal = try run(query([filter(a, .equal, 3)]))
        #expect(equal.kind == .indexScan && equal.indexes == [index.text])
        #expect(equal.documentsScanned == 10 && equal.indexEntriesScanned == 10)
        #expect(equal.description == "index scan of rooms(a ASC), in order")
        #expect(equal.considered.count == 2 && equal.considered[0].cost < equal.considered[1].cost)
        let range = try run(query([filter(a, .greaterThan, 37), filter(a, .lessThan, 39)]))
        #expect(range.kind == .indexScan && range.documentsScanned == 10)
        let wrongType = try run(query([filter(a, .greaterThan, "x")]))
        #expect(wrongType.kind == .indexScan && wrongType.documentsScanned == 0)
        let unequal = try run(query([filter(a, .notEqual, 3)], [Order(a)], limit: .first(40)))
        #expect(unequal.kind == .indexScan && unequal.documentsScanned == 40)
        let contains = try run(query([filter(tags, .arrayContains, 7)]))
        #expect(contains.kind == .indexScan && contains.documentsScanned == 8)
    }

    @Test("order and limit together read as many documents as the limit says, in both directions")
    func limits() throws {
        try world.index(Segment(b))
        try world.index(Segment(a, .descending))
        for isDescending in [false, true] {
            for limit in [Query.Limit.first(7), .last(7)] {
                let unique = try run(
                    query([], [Order(b, isDescending: isDescending)], limit: limit))
                #expect(unique.kind == .indexScan && unique.documentsScanned == 7)
            }
        }
        // Ten rooms have each a: entries that are alike go by ascending name.
        let along = try run(query([], [Order(a)], limit: .first(15)))
        #expect(along.kind == .indexScan && along.documentsScanned == 20)
        let whole = try run(query([], [Order(a, isDescending: true)], limit: .first(20)))
        #expect(whole.kind == .indexScan && whole.documentsScanned == 20)
        let page = try run(
            query([], [Order(b)], limit: .first(5), start: Bound([100], isInclusive: false)))
        #expect(page.documentsScanned == 5)
        let before = try run(
            query([], [Order(b)], limit: .last(5), end: Bound([100], isInclusive: true)))
        #expect(before.documentsScanned == 5)
    }

    @Test("an index serves an equality before the order, including cursors")
    func composite() throws {
        try world.index(Segment(a), Segment(b, .descending))
        let newest = try run(
            query([filter(a, .equal, 3)], [Order(b, isDescending: false)], limit: .last(4)))
        #expect(newest.kind == .indexScan && newest.documentsScanned == 4)
        let page = try run(
            query(
                [filter(a, .equal, 3)], [Order(a), Order(b)], limit: .first(2),
                start: Bound([3, 83], isInclusive: true)))
        #expect(page.kind == .indexScan && page.documentsScanned == 2)
        let nothing = try run(
            query(
                [filter(a, .equal, 3)], [Order(a), Order(b)], start: Bound([4], isInclusive: true)))
        #expect(nothing.kind == .nothing && nothing.documentsScanned == 0)
    }

    @Test("a fixed field after others in a cursor matters only if those are equal")
    func fixedFieldInCursor() throws {
        try world.index(Segment(a), Segment(b))
        let even = filter(try FieldPath("c"), .equal, "even")
        for (value, isInclusive) in [("a", true), ("z", false), ("even", true), ("even", false)] {
            let bound = Bound([20, .string(value), 200], isInclusive: isInclusive)
            let orders = [Order(a), Order(try FieldPath("c")), Order(b)]
            #expect(try run(query([even], orders, start: bound)).documentsReturned > 0)
            #expect(try run(query([even], orders, end: bound)).documentsReturned > 0)
            #expect(
                try run(query([even], orders, limit: .first(3), start: bound)).kind == .indexScan)
        }
    }

    @Test("documents after a bound beyond the length of entries are found once")
    func longConstants() throws {
        let long = Value.string(String(repeating: "l", count: 300))
        try world.putRooms(400..<420) { ["a": long, "b": .integer(Int64($0))] }
        for kind in [Segment.Kind.ascending, .descending] {
            try world.index(Segment(a), Segment(b, kind))
            for (op, value) in [
                (FieldFilter.Operator.notEqual, Value.integer(405)), (.notIn, ["x"]),
                (.greaterThan, 405),
            ] {
                let execution = try run(query([filter(a, .equal, long), filter(b, op, value)]))
                #expect(execution.documentsReturned >= 14)
            }
            try IndexMaintenance(store: world.store).configure(IndexConfiguration([]))
        }
    }

    @Test("an index that may lack a match is not used")
    func missingFields() throws {
        try world.index(Segment(a), Segment(try FieldPath("none")))
        try world.index(Segment(a), Segment(tags, .contains))
        let execution = try run(query([filter(a, .equal, 3)]))
        #expect(execution.kind == .collectionScan)
    }

    @Test("in and or are unions, in order with a limit; a term without an index makes it a scan")
    func unions() throws {
        try world.index(Segment(a))
        try world.index(Segment(b))
        let several = try run(query([filter(a, .in, [3, 5, 3.0])]))
        #expect(several.kind == .union && several.documentsScanned == 20)
        let either = try run(query([.or([filter(a, .equal, 3), filter(b, .lessThan, 3)])]))
        #expect(either.kind == .union && either.indexes.count == 2)
        #expect(either.documentsScanned == 13)
        let scan = try run(
            query([.or([filter(a, .equal, 3), filter(try FieldPath("c"), .equal, "odd")])]))
        #expect(scan.kind == .collectionScan)
        try world.index(Segment(a), Segment(b))
        let merged = try run(query([filter(a, .in, [3, 5, 7])], [Order(b)], limit: .first(2)))
        #expect(merged.kind == .union && merged.documentsScanned <= 9)
    }

    @Test("two indexes are intersected where each alone leaves much")
    func intersections() throws {
        try world.putRooms(400..<4000) { number in
            ["a": .integer(Int64(number % 3)), "b": .integer(Int64(number % 5))]
        }
        try world.index(Segment(a))
        try world.index(Segment(b))
        let both = try run(query([filter(a, .equal, 2), filter(b, .equal, 4)]))
        #expect(both.kind == .intersection && both.indexes.count == 2)
        #expect(both.documentsScanned == both.documentsReturned)
        #expect(both.description.hasPrefix("intersection\n  index scan of rooms("))
    }

    @Test("an index with most documents in range is left for the scan")
    func unselective() throws {
        try world.index(Segment(try FieldPath("c")))
        let execution = try run(query([filter(try FieldPath("c"), .equal, "even")]))
        #expect(execution.kind == .collectionScan)
        #expect(execution.considered.count == 2)
    }

    @Test("a target's documents are the plan where little has changed since")
    func target() throws {
        let matches = query([filter(a, .equal, 3)])
        let expected = NaiveEvaluator(matches).documents(among: world.view)
        try world.store.write { transaction in
            try transaction.put(Target(id: 2, query: [], canonicalID: "q"))
            for path in expected { try transaction.add(path, toTarget: 2) }
        }
        try world.overlay(rooms.document("r0"), ["a": 3])
        try world.overlay(rooms.document("r3"), ["a": 4])
        let version = SnapshotVersion(Timestamp(seconds: 5, nanoseconds: 0))
        let target = TargetDocuments(id: 2, limboFreeVersion: version)
        let result = try world.store.read {
            try world.runner.run(matches, from: target, in: $0)
        }
        #expect(result.execution.kind == .targetDocuments)
        #expect(result.execution.documentsScanned == 11)
        #expect(
            result.documents.map(\.path) == NaiveEvaluator(matches).documents(among: world.view))
        let limited = try world.store.read {
            try world.runner.run(
                query([filter(a, .equal, 3)], limit: .first(2)), from: target, in: $0)
        }
        #expect(limited.execution.kind == .collectionScan)
    }

    @Test("a write transaction sees its own documents and indexes")
    func inWriteTransaction() throws {
        let query = query([filter(a, .equal, 3)])
        _ = try run(query)
        try world.store.write { transaction in
            let id = try transaction.defineIndex(
                IndexDefinition(collectionGroup: "rooms", segments: [Segment(a)]))
            _ = try transaction.backfillIndex(id)
            try transaction.put(
                Record(["a": 3]), at: rooms.document("zz"), version: .none)
            let result = try world.runner.run(query, in: transaction)
            #expect(result.execution.kind == .indexScan && result.documents.count == 11)
        }
    }

    @Test("hostile queries stay bounded")
    func hostile() throws {
        try world.index(Segment(a))
        let many = (0..<100).map { filter(a, .notEqual, .integer(Int64($0 + 100))) }
        #expect(try run(query(many)).documentsReturned == 400)
        let pairs = (0..<40).map { number -> Filter in
            .or([filter(a, .equal, 3), filter(b, .lessThan, .integer(Int64(number + 1)))])
        }
        // 2^40 ways to match, were they all written down.
        #expect(try run(query([.and(pairs)])).documentsReturned == 11)
        let values = (0..<1000).map { Value.integer(Int64($0 + 30)) }
        #expect(try run(query([filter(a, .in, .array(values))])).documentsReturned == 100)
        var deep = filter(a, .equal, 3)
        for level in 0..<500 { deep = level % 2 == 0 ? .and([deep]) : .or([deep, deep]) }
        let disjunction = Disjunction([deep])
        #expect(disjunction.terms.count <= 100)
    }
}
