import LarderModel
import LarderQuery
import Testing

@Suite("Alternatives of a query")
struct DisjunctiveTermsTests {
    private let source = Query.Source.group("c")

    private func field(_ name: String, _ op: FieldFilter.Operator = .equal, _ value: Value = 1)
        -> Filter
    {
        .field(FieldFilter(FieldPath(unchecked: [name]), op, value))
    }

    private func terms(_ filters: [Filter], limit: Int = 100) -> [String]? {
        Query(source, filters: filters).disjunctiveTerms(limit: limit)?.map { term in
            term.map { "\($0.path)\($0.op.rawValue)\($0.value)" }.joined(separator: " ")
        }
    }

    @Test("2.5: no filters are one alternative without conditions")
    func none() {
        #expect(terms([]) == [""])
        #expect(terms([.and([])]) == [""])
        #expect(terms([.or([])]) == [])
    }

    @Test("2.5: `and` is distributed over `or` from left to right")
    func distribution() {
        let (a, b, c, d) = (field("a"), field("b"), field("c"), field("d"))
        #expect(terms([a, b]) == ["a==1 b==1"])
        #expect(terms([a, .and([b, c])]) == ["a==1 b==1 c==1"])
        #expect(terms([a, .or([b, c])]) == ["a==1 b==1", "a==1 c==1"])
        #expect(
            terms([.or([a, b]), .or([c, d])]) == [
                "a==1 c==1", "a==1 d==1", "b==1 c==1", "b==1 d==1",
            ])
        #expect(
            terms([.or([a, .and([b, .or([c, d])])])]) == ["a==1", "b==1 c==1", "b==1 d==1"])
    }

    @Test("2.5: `in` is an `or` of `==`, but not on the name; other lists stay")
    func lists() throws {
        #expect(terms([field("a", .in, [1, 2, 1])]) == ["a==1", "a==2"])
        #expect(terms([field("a", .notIn, [1, 2])])?.count == 1)
        #expect(terms([field("a", .arrayContainsAny, [1, 2])])?.count == 1)
        let names: Value = [try reference("c/a"), try reference("c/b")]
        #expect(terms([.field(FieldFilter(.documentID, .in, names))])?.count == 1)
    }

    @Test("2.5: beyond the limit there is no such form, and it costs nothing to say so")
    func limit() {
        let pair = Filter.or([field("a"), field("b")])
        #expect(terms(Array(repeating: pair, count: 6))?.count == 64)
        #expect(terms(Array(repeating: pair, count: 7)) == nil)
        #expect(terms(Array(repeating: pair, count: 60)) == nil)
        let long = field("a", .in, .array((0..<101).map { .integer($0) }))
        #expect(terms([long]) == nil)
        #expect(terms([long], limit: 101)?.count == 101)
        #expect(terms([.or(Array(repeating: pair, count: 51))]) == nil)
    }
}
