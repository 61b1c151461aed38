import Foundation
import Larder
import LarderTestSupport
import Testing

@Suite("Queries over the wire", .timeLimit(.minutes(10)))
struct QueryFeatureTests {
    private static func cities() -> [(String, [String: Any])] {
        [
            ("BJ", ["country": "China", "population": 21_500_000, "tags": ["north", "capital"]]),
            ("DC", ["country": "USA", "population": 680_000, "tags": ["east", "capital"]]),
            ("LA", ["country": "USA", "population": 3_900_000, "tags": ["west"]]),
            ("SF", ["country": "USA", "population": 860_000, "tags": ["west", "norcal"]]),
            ("TOK", ["country": "Japan", "population": 9_000_000, "tags": ["capital"]]),
            ("X", ["country": NSNull(), "area": 1.5]),
        ]
    }

    /// Runs a test on a client that has the cities, all from the server.
    private static func withCities(
        at site: Site, _ body: (CollectionReference) async throws -> Void
    ) async throws {
        try await Ground.at(site) { ground in
            let (one, two) = (try ground.client(), try ground.client(isDirect: true))
            let batch = two.db.batch()
            for (id, data) in cities() {
                batch.setData(data, forDocument: two.db.document("cities/\(id)"))
            }
            try await batch.commit()
            try await body(one.db.collection("cities"))
            try await one.end()
            try await two.end()
        }
    }

    /// Says what a query gives, which the cache gives as well once the server has.
    private static func expect(
        _ query: Query, _ ids: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let served = try await query.getDocuments(source: .server)
        #expect(served.ids == ids, sourceLocation: sourceLocation)
        let cached = try await query.getDocuments(source: .cache)
        #expect(cached.ids == ids, "from the cache", sourceLocation: sourceLocation)
    }

    @Test("have every operator", arguments: Site.all)
    func operators(site: Site) async throws {
        try await Self.withCities(at: site) { cities in
            let number = 860_000
            try await Self.expect(cities.whereField("population", isEqualTo: number), ["SF"])
            try await Self.expect(cities.whereField("population", isLessThan: number), ["DC"])
            try await Self.expect(
                cities.whereField("population", isLessThanOrEqualTo: number), ["DC", "SF"])
            try await Self.expect(
                cities.whereField("population", isGreaterThan: 9_000_000), ["BJ"])
            try await Self.expect(
                cities.whereField("population", isGreaterThanOrEqualTo: 9_000_000), ["TOK", "BJ"])
            try await Self.expect(cities.whereField("country", isNotEqualTo: "USA"), ["BJ", "TOK"])
            try await Self.expect(
                cities.whereField("country", in: ["China", "Japan"]), ["BJ", "TOK"])
            try await Self.expect(cities.whereField("country", notIn: ["USA", "Japan"]), ["BJ"])
            try await Self.expect(cities.whereField("tags", arrayContains: "west"), ["LA", "SF"])
            try await Self.expect(
                cities.whereField("tags", arrayContainsAny: ["norcal", "north"]), ["BJ", "SF"])
            try await Self.expect(cities.whereField("country", isEqualTo: NSNull()), ["X"])
            try await Self.expect(
                cities.whereField(FieldPath.documentID(), isGreaterThan: "SF"), ["TOK", "X"])
            try await Self.expect(
                cities.whereField(FieldPath.documentID(), in: ["X", "LA"]), ["LA", "X"])
        }
    }

    @Test("join filters with and and or", arguments: Site.all)
    func composites(site: Site) async throws {
        try await Self.withCities(at: site) { cities in
            let inUSA = Filter.whereField("country", isEqualTo: "USA")
            let isSmall = Filter.whereField("population", isLessThan: 1_000_000)
            let isCapital = Filter.whereField("tags", arrayContains: "capital")
            try await Self.expect(cities.whereFilter(.andFilter([inUSA, isSmall])), ["DC", "SF"])
            try await Self.expect(
                cities.whereFilter(.orFilter([inUSA, isCapital])), ["BJ", "DC", "LA", "SF", "TOK"])
            try await Self.expect(
                cities.whereFilter(.andFilter([inUSA, .orFilter([isCapital, isSmall])])),
                ["DC", "SF"])
            try await Self.expect(
                cities.whereFilter(inUSA).whereField("population", isGreaterThan: 700_000)
                    .order(by: "population", descending: true), ["LA", "SF"])
        }
    }

    @Test("are ordered, limited and begun where it is said", arguments: Site.all)
    func orders(site: Site) async throws {
        try await Self.withCities(at: site) { cities in
            let bySize = cities.order(by: "population")
            try await Self.expect(bySize, ["DC", "SF", "LA", "TOK", "BJ"])
            try await Self.expect(bySize.limit(to: 2), ["DC", "SF"])
            try await Self.expect(bySize.limit(toLast: 2), ["TOK", "BJ"])
            try await Self.expect(
                cities.order(by: "country", descending: true)
                    .order(by: "population", descending: true),
                ["LA", "SF", "DC", "TOK", "BJ"])
            try await Self.expect(
                bySize.start(at: [860_000]).end(before: [9_000_000]), ["SF", "LA"])
            try await Self.expect(
                bySize.start(after: [860_000]).end(at: [9_000_000]), ["LA", "TOK"])
            let city = try await cities.document("LA").getDocument()
            try await Self.expect(bySize.start(atDocument: city), ["LA", "TOK", "BJ"])
            try await Self.expect(bySize.end(beforeDocument: city).limit(toLast: 1), ["SF"])
        }
    }

    @Test("of a group find documents wherever they are", arguments: Site.all)
    func groups(site: Site) async throws {
        try await Ground.at(site) { ground in
            let (one, two) = (try ground.client(), try ground.client(isDirect: true))
            for (path, number) in [("marks/a", 1), ("c/x/marks/b", 2), ("c/y/z/1/marks/c", 3)] {
                try await two.db.document(path).setData(["n": number])
            }
            try await two.db.document("other/d").setData(["n": 4])
            let group = one.db.collectionGroup("marks")
            try await Self.expect(group.order(by: "n"), ["a", "b", "c"])
            try await Self.expect(group.whereField("n", isGreaterThan: 1), ["b", "c"])
            var heard = group.whereField("n", isGreaterThan: 2).everything
            try await heard.settled(["c"])
            try await two.db.document("far/away/marks/d").setData(["n": 9])
            try await heard.settled(["c", "d"])
            try await one.end()
            try await two.end()
        }
    }

    @Test("are counted, summed and averaged by the server", arguments: Site.all)
    func figures(site: Site) async throws {
        try await Self.withCities(at: site) { cities in
            #expect(try await cities.count.getAggregation(source: .server).count == 6)
            let fields: [AggregateField] = [
                .count(), .sum("population"), .average("population"), .average("area"),
            ]
            let american = cities.whereField("country", isEqualTo: "USA")
            let figures = try await american.aggregate(Array(fields.prefix(3)))
                .getAggregation(source: .server)
            #expect(figures.get(fields[0]) as? Int == 3)
            #expect(figures.get(fields[1]) as? Int == 5_440_000)
            #expect(figures.get(fields[2]) as? Double == 5_440_000.0 / 3)
            let none = try await american.aggregate([fields[3]]).getAggregation(source: .server)
            #expect(none.get(fields[3]) is NSNull)
        }
    }
}
