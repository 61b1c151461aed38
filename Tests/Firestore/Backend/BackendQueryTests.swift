import LarderBackend
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Testing

@Suite("Backend: queries and figures")
struct BackendQueryTests {
    private let backend: TestBackend

    init() throws {
        backend = try TestBackend()
        try backend.commit((0..<20).map { try .set("c/d\($0)", ["n": .integer(Int64($0 % 7))]) })
    }

    private func ids(_ query: Query, stoppingAt count: Int = .max) throws -> [String] {
        var ids: [String] = []
        _ = try backend.backend.runQuery(query, as: Credentials()) {
            ids.append($0.id)
            return ids.count < count ? .continue : .stop
        }
        return ids
    }

    @Test("A query gives its documents in order, until the closure has enough")
    func order() throws {
        var query = Query(.collection(try CollectionPath("c")))
        #expect(try ids(query).count == 20)
        #expect(try ids(query, stoppingAt: 3) == ["d0", "d1", "d10"])
        query.limit = .first(2)
        #expect(try ids(query) == ["d0", "d1"])
        query.limit = .last(2)
        query.explicitOrders = [Order(.documentID)]
        #expect(try ids(query) == ["d8", "d9"])
        query.explicitOrders = [Order(try FieldPath("n"), isDescending: true)]
        query.limit = .first(3)
        #expect(try ids(query) == ["d6", "d13", "d5"])
        query.limit = nil
        #expect(try ids(query, stoppingAt: 2) == ["d6", "d13"])
    }

    @Test("The version is that of the commit that was read")
    func version() throws {
        let query = Query(.collection(try CollectionPath("c")))
        let version = try backend.commit(.set("c/x", ["n": 1])).commitVersion
        let read = try backend.backend.runQuery(query, as: Credentials()) { _ in .stop }
        #expect(read == version)
        let figures = try backend.backend.aggregates([.count], over: query, as: Credentials())
        #expect(figures.version == version)
        #expect(figures.values == [21])
    }

    @Test("Figures come in the order that was asked for")
    func figures() throws {
        let (field, missing) = (try FieldPath("n"), try FieldPath("x"))
        let query = Query(
            .collection(try CollectionPath("c")),
            filters: [.field(FieldFilter(field, .lessThan, 2))])
        let values: [Value] = try backend.answer {
            backend.backend.aggregate(
                [.sum(field), .count, .average(field), .average(missing)],
                over: query.target, as: Credentials(), $0)
        }
        #expect(values == [3, 6, 0.5, .null])
    }

    @Test("A query that is not sound is refused")
    func validation() throws {
        var query = Query(.collection(try CollectionPath("c")))
        query.limit = .first(0)
        #expect(code { _ = try ids(query) } == .invalidArgument)
        query.limit = nil
        query.explicitOrders = [Order(.documentID), Order(try FieldPath("n"))]
        #expect(code { _ = try ids(query) } == .invalidArgument)
    }
}
