import Foundation
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderSharedTestSupport
import Testing

@testable import LarderPlanning

@Suite("Nearest vectors")
struct QueryRunnerNearestTests {
    private static let measures: [VectorMeasure] = [.euclidean, .cosine, .dotProduct]

    private let world: PlanningWorld
    private let all: Query
    private let field: FieldPath

    init() throws {
        world = try PlanningWorld()
        all = Query(.collection(world.collections[0]))
        field = try FieldPath("v")
    }

    private func nearest(
        _ vector: [Double], _ measure: VectorMeasure, limit: Int = 1_000, threshold: Double? = nil,
        of query: Query? = nil
    ) throws -> NearestResult {
        let search = NearestSearch(field, vector, measure, limit: limit, threshold: threshold)
        return try world.store.read { transaction in
            try world.runner.nearest(search, of: query ?? all, in: transaction)
        }
    }

    private func put(_ vectors: [String: [Double]]) throws {
        for (id, vector) in vectors { try world.put(id, ["v": .vector(VectorValue(vector))]) }
    }

    @Test("the nearest come first, equally near ones by name, NaN last; others are left out")
    func order() throws {
        try put([
            "a": [1, 2], "b": [-1, 2], "c": [1, 2, 3], "f": [0, 0], "h": [.infinity, 1],
            "i": [2, 4],
            "j": [1, 2], "l": [3, 4],
        ])
        try world.put("d", ["v": 1])
        try world.put("e", ["n": 1])
        func found(_ measure: VectorMeasure, _ threshold: Double? = nil) throws -> String {
            try nearest([1, 2], measure, threshold: threshold).matches.map(\.document.id).joined()
        }
        #expect(try found(.euclidean) == "ajbfilh")
        #expect(try found(.cosine) == "aijlbfh")
        #expect(try found(.dotProduct) == "hliajbf")
        // The distance of the threshold itself is near enough; NaN never is.
        #expect(try found(.euclidean, 5.0.squareRoot()) == "ajbfi")
        #expect(try found(.cosine, 3) == "aijlb")
        #expect(try found(.dotProduct, 5) == "hliaj")
        #expect(try found(.euclidean, -1) == "")
        #expect(try nearest([1, 2], .euclidean).matches[2].distance == 2)
    }

    @Test("filters narrow the search, through an index too")
    func filters() throws {
        for number in 0..<20 {
            try world.put(
                "d\(number)", ["v": .vector([Double(number)]), "a": .integer(Int64(number % 2))])
        }
        var query = all
        query.filters = [.field(FieldFilter(try FieldPath("a"), .equal, 1))]
        for _ in 0..<2 {
            let result = try nearest([4.4], .euclidean, limit: 3, of: query)
            #expect(result.matches.map(\.document.id) == ["d5", "d3", "d7"])
            try world.index(.init(try FieldPath("a"), .ascending))
        }
        let result = try nearest([4.4], .euclidean, limit: 3, of: query)
        #expect(result.execution.kind == .indexScan && result.execution.documentsReturned == 3)
    }

    @Test("random searches are those of sorting all documents")
    func random() throws {
        var random = SeededRandom()
        for size in [3, 40] {
            try world.putRooms(0..<60) { _ in
                let components = (0..<(random.oneIn(8) ? 2 : size)).map { _ in
                    Double(random.below(5)) - 2
                }
                return [
                    "v": .vector(VectorValue(components)), "a": .integer(Int64(random.below(3))),
                ]
            }
            for _ in 0..<30 {
                let vector = (0..<size).map { _ in Double(random.below(5)) - 2 }
                let measure = random.pick(Self.measures)
                let limit = 1 + random.below(70)
                let threshold = random.oneIn(2) ? Double(random.below(9)) - 3 : nil
                var query = all
                if random.oneIn(3) {
                    query.explicitOrders = [Order(try FieldPath("a"), isDescending: true)]
                }
                let found = try nearest(
                    vector, measure, limit: limit, threshold: threshold, of: query)
                let expected = try sorted(query, vector, measure, limit, threshold)
                #expect(found.matches.map(\.document.id) == expected, "\(random)")
            }
        }
    }

    /// The IDs of the documents that a search finds, by sorting the results of the query.
    private func sorted(
        _ query: Query, _ vector: [Double], _ measure: VectorMeasure, _ limit: Int,
        _ threshold: Double?
    ) throws -> [String] {
        let documents = try world.store.read { transaction in
            try world.runner.run(query, in: transaction).documents
        }
        var near: [(id: String, distance: Double)] = []
        for document in documents {
            guard case .vector(let value)? = document[field],
                value.components.count == vector.count
            else { continue }
            var (product, left, right, squares) = (0.0, 0.0, 0.0, 0.0)
            for (a, b) in zip(vector, value.components) {
                (product, squares) = (product + a * b, squares + (a - b) * (a - b))
                (left, right) = (left + a * a, right + b * b)
            }
            let distance =
                switch measure {
                case .euclidean: squares.squareRoot()
                case .cosine: 1 - product / (left * right).squareRoot()
                case .dotProduct: product
                }
            let isNear =
                threshold.map { measure == .dotProduct ? distance >= $0 : distance <= $0 } ?? true
            if isNear { near.append((document.id, distance)) }
        }
        let rank = { (distance: Double) in
            distance.isNaN ? Double.infinity : measure == .dotProduct ? -distance : distance
        }
        // Equally near ones stay in the order of the query.
        return near.enumerated().sorted {
            (rank($0.element.distance), $0.offset) < (rank($1.element.distance), $1.offset)
        }.prefix(limit).map(\.element.id)
    }
}
