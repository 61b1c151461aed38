import Foundation
import LarderModel
import LarderQuery
import LarderTestSupport
import Testing

@Suite("Matching documents")
struct QueryMatcherTests {
    private let cities: Query.Source

    init() throws {
        cities = .collection(try CollectionPath("cities"))
    }

    private func matches(
        _ op: FieldFilter.Operator, _ value: Value, _ stored: Value?
    ) throws -> Bool {
        let query = Query(cities, filters: [.field(FieldFilter(try FieldPath("a"), op, value))])
        let fields: MapValue = stored.map { ["a": $0] } ?? ["b": 1]
        return try QueryMatcher(query).matches(city("SF", fields))
    }

    /// A value of every type, and two numbers that are of one place.
    static let samples: [Value] = [
        .null, false, .integer(1), .double(1), .double(.nan),
        .timestamp(Timestamp(seconds: 1, nanoseconds: 0)),
        "text", .bytes([1]), .reference(ResourceName("projects/p/databases/d/documents/a/b")),
        .geoPoint(GeoPoint(latitude: 1, longitude: 2)), [1], .vector([1]), ["k": 1],
    ]

    @Test("a missing field matches no operator", arguments: FieldFilter.Operator.allCases)
    func missing(op: FieldFilter.Operator) throws {
        for sample in Self.samples {
            let takesList = [.in, .notIn, .arrayContainsAny].contains(op)
            #expect(try !matches(op, takesList ? [sample] : sample, nil))
        }
    }

    @Test("== matches equivalent values of the type, != all others except null")
    func equality() throws {
        for filter in Self.samples {
            for stored in Self.samples {
                let same = filter.modelOrder(to: stored) == 0
                #expect(try matches(.equal, filter, stored) == same, "\(stored) == \(filter)")
                #expect(
                    try matches(.notEqual, filter, stored) == (!same && stored != .null),
                    "\(stored) != \(filter)")
            }
        }
    }

    @Test("ranges stay within the type of their value, and know neither null nor NaN")
    func ranges() throws {
        for filter in Self.samples {
            for stored in Self.samples {
                let isOfType = filter.type.rank == stored.type.rank
                let isComparable = !Self.comparesWithNothing(filter, stored)
                let order = stored.modelOrder(to: filter)
                let expected: [FieldFilter.Operator: Bool] = [
                    .lessThan: order < 0,
                    .lessThanOrEqual: order <= 0,
                    .greaterThan: order > 0,
                    .greaterThanOrEqual: order >= 0,
                ]
                for (op, isMet) in expected {
                    #expect(
                        try matches(op, filter, stored) == (isOfType && isComparable && isMet),
                        "\(stored) \(op.rawValue) \(filter)")
                }
            }
        }
    }

    private static func comparesWithNothing(_ values: Value...) -> Bool {
        values.contains { $0 == .null || $0 == .double(.nan) }
    }

    @Test("NaN equals NaN for == and !=, and is less and greater than nothing")
    func notANumber() throws {
        let nan = Value.double(.nan)
        #expect(try matches(.equal, nan, .double(-.nan)))
        #expect(try !matches(.notEqual, nan, nan))
        #expect(try matches(.notEqual, 1, nan))
        for op in [
            FieldFilter.Operator.lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual,
        ] {
            for number in [Value.double(-.infinity), .double(.infinity), 1, nan] {
                #expect(try !matches(op, number, nan), "NaN \(op.rawValue) \(number)")
                #expect(try !matches(op, nan, number), "\(number) \(op.rawValue) NaN")
            }
            #expect(try !matches(op, .null, .null))
        }
        #expect(try matches(.lessThan, 0, .double(-.infinity)))
        // Within an array it has its place in the order.
        #expect(try matches(.lessThan, [0], [nan]))
        #expect(try matches(.greaterThanOrEqual, [nan], [nan]))
    }

    @Test("`in` and `not-in` go by places in the order, so that 1 equals 1.0")
    func lists() throws {
        let list: Value = .array(Self.samples.filter { $0 != .null && $0 != .integer(1) })
        for stored in Self.samples {
            let isListed = !Self.comparesWithNothing(stored)
            #expect(try matches(.in, list, stored) == isListed, "\(stored)")
            #expect(
                try matches(.notIn, list, stored) == (stored == .double(.nan)), "\(stored)")
        }
        #expect(try matches(.in, [.double(0)], .double(-0.0)))
        #expect(try !matches(.notIn, [0], .double(-0.0)))
        #expect(try matches(.in, [[1, 2]], [1, .double(2)]))
        #expect(try matches(.in, [["k": 1]], ["k": .double(1)]))
        let long = Value.array((0..<40).map { .integer($0) })
        for number in 0..<40 {
            #expect(try matches(.in, long, .double(Double(number))))
            #expect(try !matches(.in, long, .double(Double(number) + 0.5)))
        }
    }

    @Test("null and NaN in a list equal nothing; `not-in` with a null matches nothing")
    func nullInLists() throws {
        let nan = Value.double(.nan)
        #expect(try !matches(.in, [.null, 1], .null))
        #expect(try !matches(.in, [nan, 1], nan))
        #expect(try matches(.in, [.null, nan, 1], 1))
        #expect(try matches(.in, [[.null], [nan]], [nan]))
        #expect(try matches(.notIn, [nan], nan))
        #expect(try matches(.notIn, [nan], 1))
        #expect(try !matches(.notIn, [nan], .null))
        #expect(try !matches(.notIn, [.null, 1], 2))
        #expect(try !matches(.notIn, [.null, 1], .null))
        #expect(try !matches(.notIn, [1], .null))
    }

    @Test("array operators look for an element of the same place, in arrays only")
    func arrays() throws {
        let nan = Value.double(.nan)
        #expect(try matches(.arrayContains, 1, [0, 1]))
        #expect(try matches(.arrayContains, 1, [0, .double(1)]))
        #expect(try matches(.arrayContains, ["k": 1], [["k": .double(1)]]))
        #expect(try !matches(.arrayContains, 1, 1))
        #expect(try !matches(.arrayContains, 1, ["a": 1]))
        #expect(try !matches(.arrayContains, .double(1), .vector([1])))
        #expect(try !matches(.arrayContains, .null, [.null]))
        #expect(try !matches(.arrayContains, nan, [nan]))
        #expect(try matches(.arrayContainsAny, [3, 1], [0, 1]))
        #expect(try matches(.arrayContainsAny, [.null, 1], [.null, .double(1)]))
        #expect(try !matches(.arrayContainsAny, [.null, nan], [.null, nan]))
        #expect(try !matches(.arrayContainsAny, [3, 4], [0, 1]))
        #expect(try !matches(.arrayContainsAny, [1], 1))
    }

    @Test("composites are plain boolean logic, of nothing too")
    func composites() throws {
        func filter(_ isMet: Bool) throws -> Filter {
            .field(FieldFilter(try FieldPath("a"), .equal, isMet ? 1 : 2))
        }
        func check(_ filter: Filter) throws -> Bool {
            try QueryMatcher(Query(cities, filters: [filter])).matches(city("SF", ["a": 1]))
        }
        for left in [false, true] {
            for right in [false, true] {
                let (l, r) = (try filter(left), try filter(right))
                #expect(try check(.and([l, r])) == (left && right))
                #expect(try check(.or([l, r])) == (left || right))
                #expect(try check(.and([.or([l, r]), l])) == left)
                #expect(try check(.or([.and([l, r]), r])) == right)
            }
        }
        #expect(try check(.and([])))
        #expect(try !check(.or([])))
    }

    @Test("every ordered field is there, also one that only an `or` brings in")
    func orderedFields() throws {
        let (a, b) = (try FieldPath("a"), try FieldPath("b"))
        let query = Query(
            cities,
            filters: [
                .or([
                    .field(FieldFilter(a, .greaterThan, 1)), .field(FieldFilter(b, .equal, 1)),
                ])
            ])
        let matcher = try QueryMatcher(query)
        #expect(try !matcher.matches(city("SF", ["b": 1])))
        #expect(try matcher.matches(city("SF", ["a": .null, "b": 1])))
        let ordered = try QueryMatcher(Query(cities, orders: [Order(a)]))
        #expect(try !ordered.matches(city("SF", ["b": 1])))
        #expect(try ordered.matches(city("SF", ["a": .null])))
    }

    @Test("filters on the name go by document order, numeric ids first")
    func names() throws {
        func check(_ op: FieldFilter.Operator, _ value: Value, _ id: String) throws -> Bool {
            let query = Query(cities, filters: [.field(FieldFilter(.documentID, op, value))])
            return try QueryMatcher(query).matches(city(id))
        }
        let ten = try reference("cities/__id10__")
        #expect(try check(.equal, ten, "__id10__"))
        #expect(try !check(.equal, ten, "a"))
        #expect(try check(.notEqual, ten, "a"))
        #expect(try check(.lessThan, ten, "__id9__"))
        #expect(try check(.greaterThan, ten, "a"))
        #expect(try check(.greaterThan, ten, "A"))
        #expect(try check(.lessThanOrEqual, ten, "__id10__"))
        #expect(try check(.greaterThanOrEqual, ten, "__id10__"))
        let list = Value.array([try reference("cities/b"), try reference("cities/a")])
        #expect(try check(.in, list, "a"))
        #expect(try check(.in, list, "b"))
        #expect(try !check(.in, list, "c"))
        #expect(try check(.notIn, list, "c"))
        #expect(try !check(.notIn, list, "a"))
        #expect(throws: LarderError.self) { _ = try check(.equal, "a", "a") }
        #expect(throws: LarderError.self) { _ = try check(.arrayContains, ten, "a") }
        #expect(throws: LarderError.self) { _ = try check(.in, ten, "a") }
    }

    @Test("bounds go through the orders in turn and stop at the first difference")
    func bounds() throws {
        let (a, b) = (try FieldPath("a"), try FieldPath("b"))
        func ids(_ start: Bound?, _ end: Bound?) throws -> [String] {
            let query = Query(
                cities, orders: [Order(a), Order(b, isDescending: true)], start: start, end: end)
            let matcher = try QueryMatcher(query)
            return try [(1, 2), (1, 1), (2, 3), (2, 0)].filter { a, b in
                try matcher.matches(city("x", ["a": .integer(a), "b": .integer(b)]))
            }.map { "\($0.0)\($0.1)" }
        }
        #expect(try ids(Bound([1], isInclusive: false), nil) == ["23", "20"])
        #expect(try ids(Bound([1, 1], isInclusive: true), nil) == ["11", "23", "20"])
        #expect(try ids(Bound([1, 1], isInclusive: false), nil) == ["23", "20"])
        #expect(try ids(nil, Bound([2, 1], isInclusive: true)) == ["12", "11", "23"])
        #expect(try ids(nil, Bound([2, 0], isInclusive: false)) == ["12", "11", "23"])
        #expect(try ids(nil, Bound(["z"], isInclusive: false)).count == 4)
        let name = Bound([1, 1, try reference("cities/w")], isInclusive: true)
        #expect(try ids(name, nil) == ["23", "20"])
        #expect(try ids(nil, name) == ["12", "11"])
    }

    @Test("a document matches in its own collection, group or path, and when it exists")
    func places() throws {
        func check(_ source: Query.Source, _ path: String) throws -> Bool {
            let found = try document(DocumentPath(path), [:])
            return try QueryMatcher(Query(source)).matches(found)
        }
        #expect(try check(cities, "cities/SF"))
        #expect(try !check(cities, "towns/SF"))
        #expect(try !check(cities, "cities/SF/cities/x"))
        #expect(try check(.group("cities"), "cities/SF"))
        #expect(try check(.group("cities"), "states/CA/cities/SF"))
        #expect(try !check(.group("cities"), "states/CA/oldcities/SF"))
        #expect(try !check(.group("cities"), "cities/SF/towns/x"))
        #expect(try check(.document(DocumentPath("cities/SF")), "cities/SF"))
        #expect(try !check(.document(DocumentPath("cities/SF")), "cities/S"))
        #expect(try !check(.document(DocumentPath("a/b/c/d")), "a/b"))
        let absent = Document(
            path: try DocumentPath("cities/SF"), state: .absent, record: nil, version: .none,
            createTime: nil, readTime: .none, hasLocalMutations: false,
            hasCommittedMutations: false, largestBatchID: 0, storedBytes: 0)
        #expect(try !QueryMatcher(Query(cities)).matches(absent))
    }
}
