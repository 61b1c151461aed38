import LarderDocumentStore
import LarderModel
import LarderQuery
import Testing

@testable import LarderPlanning

@Suite("aggregates over the local view")
struct QueryRunnerAggregatesTests {
    private let world: PlanningWorld
    private let all: Query
    private let n: FieldPath

    init() throws {
        world = try PlanningWorld()
        all = Query(.collection(world.collections[0]))
        n = try FieldPath("n")
    }

    private func values(_ aggregate: Aggregate, of numbers: [Value], _ query: Query? = nil) throws
        -> Value?
    {
        for (position, number) in numbers.enumerated() {
            try world.put("d\(position)", ["n": number])
        }
        return try world.aggregate([aggregate], query ?? all).values[aggregate]
    }

    @Test("of nothing the sum is 0, average, minimum and maximum are null")
    func nothing() throws {
        try world.put("x", ["other": 1])
        let aggregates: [Aggregate] = [.count, .sum(n), .average(n), .minimum(n), .maximum(n)]
        let values = try world.aggregate(aggregates, all).values
        #expect(values[.count] == 0 && values[.sum(n)] == 0 && values[.average(n)] == .null)
        #expect(values[.minimum(n)] == .null && values[.maximum(n)] == .null)
    }

    @Test("a sum of integers is an integer until it overflows, then a double")
    func overflow() throws {
        #expect(try values(.sum(n), of: [.integer(.max), -5]) == .integer(.max - 5))
        #expect(try values(.sum(n), of: [.integer(.max), .integer(.max)]) == .double(0x1p64))
        // Whatever the order, what comes back into range is exact.
        #expect(
            try values(
                .sum(n), of: [.integer(.max), .integer(.max), .integer(.min), .integer(.min)])
                == -2)
    }

    @Test("only numbers count in sums and averages, NaN and infinities as they do")
    func numbersOnly() throws {
        #expect(try values(.sum(n), of: [1, 2.5, "x", .null, [3]]) == 3.5)
        #expect(try values(.average(n), of: [1, 2, "x", .null, [3]]) == 1.5)
        #expect(try values(.sum(n), of: [1, .double(.nan)]) == .double(.nan))
        #expect(
            try values(.sum(n), of: [.double(.infinity), .double(-.infinity)]) == .double(.nan))
        #expect(try values(.average(n), of: [.double(.infinity), 1]) == .double(.infinity))
    }

    @Test("minimum and maximum follow the order of all values")
    func extremes() throws {
        #expect(try values(.minimum(n), of: ["x", 3, true]) == true)
        #expect(try values(.maximum(n), of: ["x", 3, [1]]) == [1])
    }

    private func fill() throws {
        try world.putRooms(0..<100) { number in
            ["n": .integer(Int64(number)), "k": .integer(Int64(number % 4))]
        }
    }

    @Test("a count of a whole collection reads nothing but the pending writes")
    func collectionCount() throws {
        try fill()
        let rooms = world.collections[0]
        try world.overlay(rooms.document("r1"), nil)
        try world.overlay(rooms.document("r2"), ["n": 1])
        try world.overlay(rooms.document("new"), ["n": 1])
        try world.overlay(rooms.document("never"), nil)
        let result = try world.aggregate([.count], all)
        #expect(result.values[.count] == 100)
        #expect(result.execution.kind == .collectionCount)
        #expect(result.execution.documentsScanned == 0)
    }

    @Test("a count through an exact index reads no document; an inexact one tests each")
    func indexCount() throws {
        try fill()
        let k = try FieldPath("k")
        try world.index(IndexDefinition.Segment(k))
        var query = all
        query.filters = [.field(FieldFilter(k, .equal, 3))]
        let exact = try world.aggregate([.count], query)
        #expect(exact.values[.count] == 25 && exact.execution.documentsScanned == 0)
        #expect(exact.execution.indexEntriesScanned == 25)
        query.limit = .first(7)
        #expect(try world.aggregate([.count], query).values[.count] == 7)
        query.limit = nil
        try world.put("double", ["k": 3.0])
        // 3 and 3.0 have one place in the index, and NaN is in no range of numbers.
        try world.put("nan", ["k": .double(.nan)])
        for filter in [
            FieldFilter(k, .in, [3, 3.0, .null, .double(.nan)]), FieldFilter(k, .equal, 3.0),
        ] {
            query.filters = [.field(filter)]
            let both = try world.aggregate([.count], query)
            #expect(both.values[.count] == 26 && both.execution.documentsScanned == 0)
        }
        query.filters = [.field(FieldFilter(k, .lessThanOrEqual, 3))]
        let below = try world.aggregate([.count], query)
        #expect(below.values[.count] == 101 && below.execution.documentsScanned == 0)
        let long = String(repeating: "l", count: 300)
        try world.put("long", ["k": .string(long + "a")])
        query.filters = [.field(FieldFilter(k, .equal, .string(long + "b")))]
        #expect(try world.aggregate([.count], query).values[.count] == 0)
        query.filters = [.field(FieldFilter(k, .notEqual, .string(long + "a")))]
        #expect(try world.aggregate([.count], query).values[.count] == 102)
    }

    @Test("minimum and maximum read one document each where an index has the order")
    func indexExtremes() throws {
        try fill()
        try world.index(IndexDefinition.Segment(n))
        let result = try world.aggregate([.minimum(n), .maximum(n)], all)
        #expect(result.values[.minimum(n)] == 0 && result.values[.maximum(n)] == 99)
        #expect(result.execution.documentsScanned == 2)
    }

    @Test("limit and cursors count")
    func limited() throws {
        try fill()
        var query = all
        query.explicitOrders = [Order(n)]
        query.limit = .last(10)
        query.end = Bound([50], isInclusive: false)
        let values = try world.aggregate([.count, .sum(n), .minimum(n)], query).values
        #expect(values[.count] == 10 && values[.sum(n)] == 445 && values[.minimum(n)] == 40)
    }

    // MARK: Documents without a field

    /// As Firestore's emulator answers.
    @Test("every aggregation is over the documents that have all aggregated fields")
    func fields() throws {
        let (x, y) = (try FieldPath("x"), try FieldPath("y"))
        let documents: [(String, MapValue)] = [
            ("a", ["x": 1, "y": 10]), ("b", ["y": 20]), ("c", ["x": "t", "y": 30]),
            ("d", ["x": 4]), ("e", ["x": 5, "y": 50]), ("f", ["z": 1]),
        ]
        for (id, fields) in documents { try world.put(id, fields) }
        func check(
            _ query: Query, offset: Int = 0, _ aggregates: [Aggregate], _ expected: [Value]
        ) throws {
            let found = try world.aggregate(aggregates, query, offset: offset).values
            #expect(aggregates.map { found[$0] } == expected, "\(query)")
        }
        try check(all, [.count], [6])
        try check(all, [.count, .sum(x)], [4, 10])
        try check(all, [.count, .sum(x), .sum(y)], [3, 6, 90])
        try check(all, [.count, .average(x)], [4, .double(10.0 / 3)])
        try check(all, [.count, .minimum(x), .maximum(y)], [3, 1, 50])
        try check(all, offset: 1, [.count], [5])
        try check(all, offset: 1, [.count, .sum(x)], [3, 9])
        try check(all, offset: 10, [.count, .sum(x), .average(x)], [0, 0, .null])
        var query = all
        query.limit = .first(1)
        try check(query, offset: 1, [.count, .sum(x)], [1, 4])
        try check(query, offset: 1, [.average(x), .maximum(x)], [4.0, 4])
        query.limit = .first(3)
        try check(query, [.count, .sum(x)], [3, 10])
        query.limit = .first(2)
        try check(query, [.count, .sum(y), .sum(x)], [2, 60, 6])
        query.explicitOrders = [Order(y, isDescending: true)]
        try check(query, [.count, .sum(x)], [2, 5])
        query.limit = nil
        query.end = Bound([20], isInclusive: true)
        try check(query, [.count, .sum(x)], [2, 5])
        query = all
        query.filters = [.field(FieldFilter(y, .greaterThanOrEqual, 20))]
        try check(query, [.count, .sum(x)], [2, 5])
        // By name the fields are required, but do not order.
        query = Query(all.source, orders: [Order(.documentID)], limit: .first(2))
        query.start = Bound(
            [world.reference(try world.collections[0].document("b"))], isInclusive: true)
        try check(query, [.count, .sum(x)], [2, 4])
    }

    @Test("with a limit and an inequality its field is the first order")
    func limitedByInequality() throws {
        let (x, y) = (try FieldPath("x"), try FieldPath("y"))
        let documents: [(String, MapValue)] = [
            ("a", ["x": 1, "y": 40]), ("b", ["x": 2, "y": 30]), ("c", ["x": 3, "y": 20]),
            ("d", ["x": "t", "y": 50]), ("e", ["y": 60]),
        ]
        for (id, fields) in documents { try world.put(id, fields) }
        var query = all
        query.filters = [.field(FieldFilter(y, .greaterThanOrEqual, 20))]
        for (limit, sum) in [(1, 3), (2, 5), (3, 6), (4, 6)] as [(Int, Value)] {
            query.limit = .first(limit)
            #expect(try world.aggregate([.sum(x)], query).values[.sum(x)] == sum)
        }
        query.limit = .first(1)
        #expect(try world.aggregate([.sum(x)], query, offset: 1).values[.sum(x)] == 2)
        query.limit = nil
        let rest = try world.aggregate([.count, .sum(x), .average(x)], query, offset: 2).values
        #expect(rest[.count] == 2 && rest[.sum(x)] == 1 && rest[.average(x)] == 1.0)
    }

    @Test("sums are exact")
    func exactSums() throws {
        let tenths = Array(repeating: Value.double(0.1), count: 10)
        #expect(try values(.sum(n), of: tenths) == 1.0)
        #expect(try values(.average(n), of: tenths) == 0.1)
        for position in 0..<10 { try world.put("d\(position)", ["other": 1]) }
        #expect(try values(.sum(n), of: [1e308, 1e308, -1e308]) == 1e308)
    }
}
