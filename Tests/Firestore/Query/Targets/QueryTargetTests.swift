import LarderModel
import LarderQuery
import LarderTestSupport
import Testing

@Suite("Canonical ids")
struct QueryTargetTests {
    private let cities: Query.Source
    private let a: FieldPath

    init() throws {
        cities = .collection(try CollectionPath("cities"))
        a = try FieldPath("a")
    }

    private func id(_ value: Value) -> String {
        Query(cities, filters: [.field(FieldFilter(a, .equal, value))]).target.canonicalID
    }

    @Test("the format, which is stored and never changes")
    func format() throws {
        #expect(Query(cities).canonicalID == "cities|f:|ob:__name__asc")
        #expect(Query(.group("c")).canonicalID == "|cg:c|f:|ob:__name__asc")
        #expect(
            Query(.document(try DocumentPath("c/d"))).canonicalID == "c/d|f:|ob:__name__asc")
        let b = Filter.field(FieldFilter(try FieldPath("b.c"), .arrayContains, "x"))
        let query = Query(
            cities,
            filters: [
                .field(FieldFilter(a, .greaterThan, 1)),
                .or([b, .and([b, .field(FieldFilter(a, .in, [1, .null]))])]),
            ],
            orders: [Order(a, isDescending: true)], limit: .first(2),
            start: Bound([9, try reference("cities/x")], isInclusive: true),
            end: Bound([1], isInclusive: true))
        #expect(
            query.canonicalID
                == "cities|f:a>1,or(`b.c`array-containsx,`b.c`array-containsx,ain[1,null])"
                + "|ob:adesc,__name__desc|l:2|lb:b:9,cities/x|ub:a:1|lt:f")
        #expect(
            Query(
                cities, orders: [Order(a)], limit: .last(1), start: Bound([1], isInclusive: false)
            )
            .canonicalID == "cities|f:|ob:adesc,__name__desc|l:1|ub:b:1|lt:l")
    }

    @Test("values of every type")
    func values() throws {
        #expect(id(.null) == "cities|f:a==null|ob:__name__asc")
        let expected: [(Value, String)] = [
            (true, "true"), (-7, "-7"), (.double(1), "0x3ff0000000000000"),
            (.double(-.nan), "0x7ff8000000000000"), (.double(0), "0x0000000000000000"),
            (.timestamp(Timestamp(seconds: 5, nanoseconds: 6)), "time(5,6)"), ("é|", "é|"),
            (.bytes([0, 255]), "00ff"), (try reference("c/d"), "c/d"),
            (.reference(ResourceName("odd")), "odd"),
            (
                .geoPoint(GeoPoint(latitude: 1, longitude: 2)),
                "geo(0x3ff0000000000000,0x4000000000000000)"
            ),
            ([1, ["b": "x", "a": [.null]]], "[1,{a:[null],b:x}]"),
            (.vector([1]), "vector[0x3ff0000000000000]"),
        ]
        for (value, text) in expected {
            #expect(id(value) == "cities|f:a==\(text)|ob:__name__asc")
        }
    }

    @Test("conditions in one flat `and` are written as beside each other")
    func flatAnd() {
        let filters = [FieldFilter(a, .equal, 1), FieldFilter(a, .equal, 2)].map(Filter.field)
        #expect(
            Query(cities, filters: filters).canonicalID
                == Query(cities, filters: [.and(filters)]).canonicalID)
    }

    @Test("mirror queries share the target's id, not the query's")
    func mirrors() {
        let last = Query(cities, orders: [Order(a)], limit: .last(2))
        let first = Query(cities, orders: [Order(a, isDescending: true)], limit: .first(2))
        #expect(last.target.canonicalID == first.target.canonicalID)
        #expect(last.canonicalID != first.canonicalID)
    }

    @Test("equal targets have equal ids, and different random ones mostly differ")
    func equalTargets() throws {
        var random = SeededRandom()
        var known: [String: QueryTarget] = [:]
        var collisions = 0
        for _ in 0..<500 {
            let query = try random.query()
            let target = query.target
            #expect(target.query.target == target, "\(random)")
            #expect(target.query.target.canonicalID == target.canonicalID, "\(random)")
            if let other = known.updateValue(target, forKey: target.canonicalID) {
                collisions += other == target ? 0 : 1
            }
        }
        #expect(collisions < 20, "\(random)")
    }
}
