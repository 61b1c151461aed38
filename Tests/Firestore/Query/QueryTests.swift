import LarderModel
import LarderQuery
import Testing

@Suite("Queries as data")
struct QueryTests {
    @Test("A limit counts from either end")
    func limitCounts() {
        #expect(Query.Limit.first(3).count == 3)
        #expect(Query.Limit.last(4).count == 4)
    }
}

@Suite("Orders of a query")
struct QueryOrdersTests {
    private let source: Query.Source
    private let a: FieldPath
    private let b: FieldPath
    private let c: FieldPath

    init() throws {
        source = .collection(try CollectionPath("cities"))
        a = try FieldPath("a")
        b = try FieldPath("b")
        c = try FieldPath("c")
    }

    private func field(_ path: FieldPath, _ op: FieldFilter.Operator) -> Filter {
        .field(FieldFilter(path, op, op == .notIn || op == .in ? [1] : 1))
    }

    @Test("without orders it is the name's, ascending")
    func nameAlone() {
        #expect(Query(source).orders == [Order(.documentID)])
        #expect(Query(source, filters: [field(a, .equal)]).orders == [Order(.documentID)])
    }

    @Test("the name takes the last explicit direction")
    func lastDirection() {
        let query = Query(source, orders: [Order(a), Order(b, isDescending: true)])
        #expect(
            query.orders == [
                Order(a), Order(b, isDescending: true), Order(.documentID, isDescending: true),
            ])
    }

    @Test("fields of inequalities follow in field order, each once, also from composites")
    func inequalities() {
        let filters: [Filter] = [
            .or([field(c, .greaterThan), .and([field(b, .notEqual), field(c, .lessThan)])]),
            field(a, .notIn), field(.documentID, .equal),
        ]
        let query = Query(source, filters: filters, orders: [Order(b, isDescending: true)])
        #expect(query.orders.map(\.path) == [b, a, c, .documentID])
        #expect(query.orders.allSatisfy { $0.isDescending })
    }

    @Test(
        "which operators are inequalities",
        arguments: FieldFilter.Operator.allCases)
    func inequalityOperators(op: FieldFilter.Operator) {
        let expected: Set<FieldFilter.Operator> = [
            .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .notEqual, .notIn,
        ]
        #expect(op.isInequality == expected.contains(op))
        #expect(Query(source, filters: [field(a, op)]).orders.count == (op.isInequality ? 2 : 1))
    }

    @Test("an inequality on the name adds no order, and an explicit name no second one")
    func explicitName() {
        let filter = Filter.field(FieldFilter(.documentID, .greaterThan, .null))
        #expect(Query(source, filters: [filter]).orders == [Order(.documentID)])
        let query = Query(
            source, filters: [field(b, .lessThan)],
            orders: [Order(a), Order(.documentID, isDescending: true)])
        #expect(
            query.orders == [
                Order(a), Order(.documentID, isDescending: true), Order(b, isDescending: true),
            ])
    }

    @Test("field order is that of path segments, numeric ids first")
    func fieldOrder() throws {
        let paths = try [FieldPath("a", "b"), FieldPath("__id9__"), FieldPath("__id10__"), a]
        let query = Query(source, filters: paths.map { field($0, .notEqual) })
        #expect(
            query.orders.map(\.path.canonicalString) == [
                "__id9__", "__id10__", "a", "a.b", "__name__",
            ])
    }

    @Test("a query matches all documents without filters, limit, bounds and other orders")
    func matchesAll() {
        let bound = Bound([1], isInclusive: true)
        #expect(Query(source).matchesAllDocuments)
        #expect(Query(source, orders: [Order(.documentID)]).matchesAllDocuments)
        #expect(!Query(source, orders: [Order(a)]).matchesAllDocuments)
        #expect(!Query(source, orders: [Order(.documentID), Order(a)]).matchesAllDocuments)
        #expect(!Query(source, filters: [field(a, .equal)]).matchesAllDocuments)
        #expect(!Query(source, limit: .first(1)).matchesAllDocuments)
        #expect(!Query(source, start: bound).matchesAllDocuments)
        #expect(!Query(source, end: bound).matchesAllDocuments)
    }

    @Test("mirror queries share a target and are not equal")
    func mirrors() throws {
        let (two, three) = (Bound([2], isInclusive: true), Bound([3], isInclusive: false))
        let last = Query(source, orders: [Order(a)], limit: .last(2), start: two, end: three)
        let first = Query(
            source, orders: [Order(a, isDescending: true)], limit: .first(2), start: three,
            end: two)
        #expect(last.target == first.target)
        #expect(last != first)
        #expect(last.target.orders.allSatisfy { $0.isDescending })
        #expect(last.target.start == three)
        #expect(last.target.query == first)
    }

    @Test("the query of a document's target is sound and asks for it")
    func documentTarget() throws {
        let query = Query(.document(try DocumentPath("c/d")))
        try query.target.query.validate()
        #expect(query.target.query == query)
    }

    @Test("spelled-out implicit orders make an equal query, another order of filters does not")
    func equality() {
        let filters = [field(a, .greaterThan), field(b, .equal)]
        let implicit = Query(source, filters: filters)
        let explicit = Query(source, filters: filters, orders: [Order(a), Order(.documentID)])
        #expect(implicit == explicit)
        #expect(implicit.hashValue == explicit.hashValue)
        #expect(implicit != Query(source, filters: filters.reversed()))
        #expect(implicit != Query(source, filters: filters, limit: .first(1)))
    }

    @Test("filters with 1 and 1.0 make different targets")
    func typesDiffer() {
        let integer = Query(source, filters: [.field(FieldFilter(a, .equal, .integer(1)))])
        let double = Query(source, filters: [.field(FieldFilter(a, .equal, .double(1)))])
        #expect(integer.target != double.target)
    }
}
