import LarderCore
import LarderRealtimeModel
import Testing

@Suite("Building queries")
struct QueryBuilderTests {
    private let one = JSONValue.integer(1)
    private let text = JSONValue.string("k")

    private func refuses(
        _ build: (QueryBuilder) throws -> QueryBuilder,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(throws: LarderError.self, sourceLocation: sourceLocation) {
            try build(QueryBuilder())
        }
    }

    @Test("only one order, start, end and limit each")
    func onlyOnce() throws {
        refuses { try $0.ordered(by: .key).ordered(by: .value) }
        refuses { try $0.ordered(by: .priority).ordered(by: .priority) }
        refuses { try $0.starting(at: one).starting(after: one) }
        refuses { try $0.equal(to: one).starting(at: one) }
        refuses { try $0.ending(at: one).ending(before: one) }
        refuses { try $0.equal(to: one).ending(at: one) }
        refuses { try $0.starting(at: one).equal(to: one) }
        refuses { try $0.ending(at: one).equal(to: one) }
        refuses { try $0.limited(toFirst: 1).limited(toLast: 1) }
        let all = try QueryBuilder().limited(toLast: 2).starting(at: one).ending(before: text)
            .ordered(byChild: "a/b")
        #expect(all.parameters.index == .child(TreePath("a/b")))
    }

    @Test("bounds are null, booleans, numbers or strings")
    func boundTypes() throws {
        refuses { try $0.starting(at: .array([])) }
        refuses { try $0.ending(at: .object([])) }
        refuses { try $0.equal(to: .double(.nan)) }
        for value in [JSONValue.null, .boolean(true), one, .double(1.5), text] {
            _ = try QueryBuilder().ordered(by: .value).equal(to: value)
        }
        refuses { try $0.starting(at: one, key: "a/b") }
        refuses { try $0.starting(at: one, key: "") }
    }

    @Test("a query ordered by key has strings and no keys beside them")
    func keyIndex() throws {
        refuses { try $0.ordered(by: .key).starting(at: one) }
        refuses { try $0.ordered(by: .key).ending(at: .null) }
        refuses { try $0.ordered(by: .key).equal(to: text, key: "a") }
        refuses { try $0.starting(at: one).ordered(by: .key) }
        refuses { try $0.starting(at: text, key: "a").ordered(by: .key) }
        #expect(
            try QueryBuilder().starting(after: text).ordered(by: .key)
                == QueryBuilder().ordered(by: .key).starting(after: text))
    }

    @Test("a query ordered by priority has no boolean bounds")
    func priorityIndex() {
        refuses { try $0.starting(at: .boolean(true)) }
        refuses { try $0.ordered(by: .priority).ending(before: .boolean(false)) }
    }

    @Test(
        "names that are no children are refused",
        arguments: [
            "$key", ".key", "$value", ".value", "$priority", ".priority", "", "/", "a.b", "a/$x",
            "a/.priority",
        ])
    func childNames(_ name: String) {
        refuses { try $0.ordered(byChild: name) }
    }

    @Test("limits are positive and fit 31 bits")
    func limits() throws {
        for count in [0, -1, 1 << 31, Int.min, Int.max] {
            refuses { try $0.limited(toFirst: count) }
            refuses { try $0.limited(toLast: count) }
        }
        #expect(
            try QueryBuilder().limited(toFirst: 1 << 31 - 1).parameters.limit?.count == 1 << 31 - 1)
    }

    @Test("a query without bounds and limit listens as the plain location")
    func normalizing() throws {
        let ordered = try QueryBuilder().ordered(by: .value).parameters
        #expect(ordered.loadsAllData && !ordered.isDefault && ordered.normalized.isDefault)
        let limited = try QueryBuilder().limited(toLast: 1).parameters
        #expect(!limited.loadsAllData && limited.normalized == limited)
        #expect(QuerySpec(TreePath("a"), ordered).normalized == QuerySpec(TreePath("a")))
        #expect(QueryBuilder().parameters == .default)
    }
}
