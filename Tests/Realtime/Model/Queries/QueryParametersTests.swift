import LarderCore
import LarderRealtimeModel
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("Parameters of queries")
struct QueryParametersTests {
    private func json(_ text: String) throws -> JSONValue {
        try JSONValue(parsing: Array(text.utf8))
    }

    private func parameters(_ text: String) throws -> QueryParameters {
        try QueryParameters(json: json(text))
    }

    @Test("queries as messages have them")
    func writing() throws {
        let one = JSONValue.integer(1)
        let queries: [(QueryBuilder, String)] = [
            (QueryBuilder(), "{}"),
            (
                try QueryBuilder().ordered(by: .key).starting(at: .string("a")),
                #"{"sp":"a","i":".key"}"#
            ),
            (
                try QueryBuilder().ordered(by: .key).starting(after: .string("a")),
                #"{"sp":"a","sin":false,"i":".key"}"#
            ),
            (
                try QueryBuilder().ordered(by: .value).limited(toLast: 2),
                #"{"l":2,"vf":"r","i":".value"}"#
            ),
            (
                try QueryBuilder().ordered(byChild: "/a/b/").equal(to: .null, key: "k"),
                #"{"sp":null,"sn":"k","ep":null,"en":"k","i":"a/b"}"#
            ),
            (
                try QueryBuilder().starting(after: one).ending(before: .string("x")).limited(
                    toFirst: 3),
                #"{"sp":1,"sn":"[MAX_NAME]","sin":false,"ep":"x","en":"[MIN_NAME]","ein":false,"l":3,"vf":"l"}"#
            ),
            (
                try QueryBuilder().starting(after: one, key: "k").ending(before: one, key: "m"),
                #"{"sp":1,"sn":"k","sin":false,"ep":1,"en":"m","ein":false}"#
            ),
        ]
        for (query, text) in queries {
            #expect(query.parameters.json == (try json(text)))
            #expect(try parameters(text) == query.parameters)
        }
    }

    @Test("both notations of exclusive bounds are one query")
    func notations() throws {
        #expect(
            try parameters(#"{"sp":1,"sn":"[MAX_NAME]"}"#)
                == QueryBuilder().starting(after: .integer(1)).parameters)
        #expect(
            try parameters(#"{"ep":1,"en":"[MIN_NAME]"}"#)
                == QueryBuilder().ending(before: .integer(1)).parameters)
        #expect(
            try parameters(#"{"sp":1,"sn":"[MIN_NAME]","sin":true,"ep":2,"en":"[MAX_NAME]"}"#)
                == QueryBuilder().starting(at: .integer(1)).ending(at: .integer(2)).parameters)
        #expect(
            try parameters(#"{"sp":1,"sin":false}"#)
                == QueryBuilder().starting(after: .integer(1)).parameters)
    }

    @Test("a limit without a side is anchored at the start, if there is one")
    func unanchored() throws {
        #expect(try parameters(#"{"l":2}"#) == QueryBuilder().limited(toLast: 2).parameters)
        #expect(
            try parameters(#"{"l":2,"sp":1}"#)
                == QueryBuilder().starting(at: .integer(1)).limited(toFirst: 2).parameters)
    }

    @Test(
        "what is no query is refused",
        arguments: [
            "1", #"{"l":0}"#, #"{"l":"2"}"#, #"{"l":2147483648}"#, #"{"l":1,"vf":"x"}"#,
            #"{"i":1}"#,
            #"{"i":""}"#, #"{"sp":[1]}"#, #"{"ep":{}}"#,
        ])
    func invalid(_ text: String) {
        #expect(throws: LarderError.self) { try parameters(text) }
    }

    @Test("a window is what sorting and filtering all children gives")
    func windows() {
        var random = SeededRandom()
        for _ in 0..<3000 {
            let node = random.node(depth: 2)
            let parameters = random.query()
            let index = parameters.index
            var expected = Array(node.children(by: index)).filter {
                parameters.contains(index.position(of: $0))
            }
            if let limit = parameters.limit {
                expected =
                    limit.anchor == .first
                    ? Array(expected.prefix(limit.count)) : Array(expected.suffix(limit.count))
            }
            #expect(
                Array(parameters.window(of: node)) == expected, "\(random)\n\(node)\n\(parameters)")
            let filtered = parameters.filtered(node)
            if parameters.loadsAllData {
                #expect(filtered == node)
            } else {
                #expect(Array(filtered.children(by: index)) == expected)
                #expect(filtered.priority == .none)
            }
        }
    }

    @Test("bounds include and exclude children exactly")
    func bounds() throws {
        let node = try Node(parsing: #"{"1":5,"01":5,"a":5,"b":6,"c":"x"}"#)
        func keys(_ build: (QueryBuilder) throws -> QueryBuilder) throws -> [String] {
            try build(QueryBuilder().ordered(by: .value)).parameters.window(of: node).map(
                \.key.text)
        }
        let five = JSONValue.integer(5)
        #expect(try keys { try $0.starting(at: five) } == ["1", "01", "a", "b", "c"])
        #expect(try keys { try $0.starting(after: five) } == ["b", "c"])
        // No key between 1 and its integer successor is lost.
        #expect(try keys { try $0.starting(after: five, key: "1") } == ["01", "a", "b", "c"])
        #expect(try keys { try $0.starting(at: five, key: "a") } == ["a", "b", "c"])
        #expect(try keys { try $0.ending(before: five) } == [])
        #expect(try keys { try $0.ending(before: five, key: "a") } == ["1", "01"])
        #expect(try keys { try $0.ending(at: five) } == ["1", "01", "a"])
        #expect(try keys { try $0.equal(to: five).limited(toLast: 2) } == ["01", "a"])
        #expect(try keys { try $0.starting(at: .integer(7)).ending(at: five) } == [])
    }

    @Test("a query of keys has its bounds among them")
    func keyBounds() throws {
        let node = try Node(parsing: #"{"1":5,"2":5,"a":1,"b":6}"#)
        func keys(_ build: (QueryBuilder) throws -> QueryBuilder) throws -> [String] {
            try build(QueryBuilder().ordered(by: .key)).parameters.window(of: node).map(\.key.text)
        }
        #expect(try keys { try $0.starting(at: .string("2")) } == ["2", "a", "b"])
        #expect(try keys { try $0.starting(after: .string("2")).limited(toFirst: 1) } == ["a"])
        #expect(try keys { try $0.ending(before: .string("a")) } == ["1", "2"])
        #expect(try keys { try $0.equal(to: .string("b")) } == ["b"])
    }
}
