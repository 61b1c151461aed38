import LarderRealtimeModel
import Testing

@Suite("Expressions of rules")
struct ExpressionTableTests {
    @Test(
        "expressions have the results that their documentation says",
        arguments: ExpressionTable.sections)
    func table(section: RuleSection) throws {
        for (expression, outcome) in section.cases {
            let result = try RulesFixture.outcome(expression, auth: section.auth)
            #expect(result == outcome, "\(section.source): \(expression)")
        }
    }

    @Test("the table has no expression twice in a section, and is long enough")
    func size() {
        let sections = ExpressionTable.sections
        for section in sections {
            let expressions = section.cases.map(\.expression)
            #expect(Set(expressions).count == expressions.count, "\(section.source)")
        }
        #expect(sections.reduce(0) { $0 + $1.cases.count } >= 300)
    }

    private typealias Query = (QueryBuilder) throws -> QueryBuilder

    /// Queries, and the expressions that hold for them alone.
    private static var queries: [(query: Query, holds: [String], fails: [String])] {
        [
            (
                { $0 },
                ["query.orderByKey", "query.orderByChild == null", "query.limitToFirst == null"],
                ["query.orderByPriority", "query.orderByValue", "query.startAt != null"]
            ),
            (
                { try $0.ordered(byChild: "owner").equal(to: .string("bob")) },
                [
                    "query.orderByChild == 'owner' && query.equalTo == auth.uid",
                    "query.orderByChild.length == 5",
                ],
                ["query.orderByKey", "query.orderByChild == 'name'", "query.equalTo == null"]
            ),
            (
                { try $0.ordered(byChild: "foo/bar") }, ["query.orderByChild == \"foo/bar\""],
                ["query.orderByValue"]
            ),
            (
                {
                    try $0.ordered(by: .value).starting(at: .integer(2)).ending(at: .integer(9))
                        .limited(toLast: 10)
                },
                [
                    "query.orderByValue", "query.startAt == 2", "query.endAt == 9",
                    "query.equalTo == null", "query.limitToLast == 10", "query.limitToLast <= 1000",
                ],
                ["query.limitToFirst == 10", "query.orderByKey", "query.startAt == '2'"]
            ),
            (
                { try $0.ordered(by: .key).limited(toFirst: 5) },
                ["query.orderByKey", "query.limitToFirst < 6"], ["query.limitToLast == 5"]
            ),
            (
                { try $0.ordered(by: .priority).limited(toFirst: 5) },
                ["query.orderByPriority", "!query.orderByKey"], ["query.orderByValue"]
            ),
            (
                { try $0.ordered(by: .value).equal(to: .boolean(true)) },
                ["query.equalTo == true", "query.startAt == true"], ["query.equalTo == 1"]
            ),
        ]
    }

    @Test("rules see the parameters of a query")
    func queries() throws {
        for (query, holds, fails) in Self.queries {
            for expression in holds {
                #expect(try RulesFixture.outcome(expression, of: query) == .holds, "\(expression)")
            }
            for expression in fails {
                #expect(try RulesFixture.outcome(expression, of: query) == .fails, "\(expression)")
            }
        }
        for expression in ["query.limitToFirst > 1", "query.orderByChild.contains('x')"] {
            #expect(try RulesFixture.outcome(expression) { $0 } == .stops, "\(expression)")
        }
        for expression in ["query.foo == 1", "query", "query.orderByKey()", "newData.exists()"] {
            #expect(try RulesFixture.outcome(expression) { $0 } == .invalid, "\(expression)")
        }
    }
}
