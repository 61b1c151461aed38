import LarderModel
import Testing

@testable import LarderTool

@Suite struct WhereExpressionTests {
    private let database = DatabaseID(project: "p", database: "d")

    private func parse(_ text: String) throws(ExpressionFailure) -> WhereExpression {
        try WhereExpression(text, database: database)
    }

    private func field(_ names: String...) throws -> FieldPath { try FieldPath(names) }

    @Test(arguments: WhereExpression.Operator.allCases)
    func `every operator is read, with and without blanks`(op: WhereExpression.Operator) throws {
        let value: Value = op.takesList ? .array([.integer(1)]) : .integer(1)
        let text = op.takesList ? "[1]" : "1"
        let expected = WhereExpression.field(try field("a"), op, value)
        #expect(try parse("a \(op.rawValue) \(text)") == expected)
        #expect(try parse("  a\t\(op.rawValue)  \(text)  ") == expected)
        if op.rawValue.utf8.allSatisfy({ $0 < UInt8(ascii: "A") }) && !op.takesList {
            #expect(try parse("a\(op.rawValue)\(text)") == expected)
        }
    }

    @Test(arguments: [
        ("5", Value.integer(5)), ("-5", .integer(-5)), ("5.0", .double(5)), ("5e3", .double(5000)),
        ("true", .boolean(true)), ("false", .boolean(false)), ("null", .null),
        ("FR", .string("FR")), ("07", .string("07")), ("1-2", .string("1-2")),
        ("São", .string("São")), (#""San Francisco""#, .string("San Francisco")),
        (#""a \" ) b""#, .string("a \" ) b")), (#""""#, .string("")), (#""5""#, .string("5")),
        (#"{"b": [1]}"#, .map(["b": .array([.integer(1)])])),
        (#"{"$bytes": "aGk="}"#, .bytes([104, 105])),
        ("[]", .array([])),
        ("[FR, \"D E\", 3]", .array([.string("FR"), .string("D E"), .integer(3)])),
        ("[[1],[2]]", .array([.array([.integer(1)]), .array([.integer(2)])])),
        (
            "time:1970-01-01T00:00:01Z",
            .timestamp(Timestamp(rfc3339: "1970-01-01T00:00:01Z") ?? .epoch)
        ),
        ("ref:cities/SF", .reference(ResourceName("projects/p/databases/d/documents/cities/SF"))),
        (
            "ref:projects/x/databases/y/documents/a/b",
            .reference(ResourceName("projects/x/databases/y/documents/a/b"))
        ),
        (
            #"ref:"cities/New York""#,
            .reference(ResourceName("projects/p/databases/d/documents/cities/New York"))
        ),
        ("https://example.org", .string("https://example.org")),
    ])
    func `values are JSON, references, times or bare words`(text: String, value: Value) throws {
        #expect(try parse("a == \(text)") == .field(try field("a"), .equal, value))
        #expect(
            try parse("(a == \(text)) and b == 1")
                == .and([
                    .field(try field("a"), .equal, value),
                    .field(try field("b"), .equal, .integer(1)),
                ]))
    }

    @Test func `bare words that begin like numbers are collected`() throws {
        var words: [String] = []
        _ = try WhereExpression(
            "a > 1M and (b in [-2k, 5] or c == 07) and d == 1_000 and __name__ == 3x",
            database: database, numberLikeWords: &words)
        #expect(words == ["1M", "-2k", "07", "1_000"])
        words = []
        _ = try WhereExpression(
            #"a == 5e3 and b == 1-2 and c == "1M" and d == -x and e == 2026-01-31 and f == 10:30"#,
            database: database, numberLikeWords: &words)
        #expect(words == [])
    }

    @Test func `field paths are in canonical text`() throws {
        #expect(try parse("a.b == 1") == .field(try field("a", "b"), .equal, .integer(1)))
        #expect(
            try parse("`odd. name == `.c > 1")
                == .field(try field("odd. name == ", "c"), .greaterThan, .integer(1)))
        #expect(try parse(#"`a\`b` == 1"#) == .field(try field("a`b"), .equal, .integer(1)))
        #expect(try parse("and == or") == .field(try field("and"), .equal, .string("or")))
    }

    @Test func `the document ID is text in any form`() throws {
        #expect(
            try parse("__name__ in [5, x, null]")
                == .field(
                    .documentID, .in, .array([.string("5"), .string("x"), .string("null")])))
    }

    @Test func `and binds closer than or, parentheses closest`() throws {
        let (a, b, c) = (
            WhereExpression.field(try field("a"), .equal, .integer(1)),
            WhereExpression.field(try field("b"), .equal, .integer(2)),
            WhereExpression.field(try field("c"), .equal, .integer(3))
        )
        #expect(try parse("a == 1 or b == 2 and c == 3") == .or([a, .and([b, c])]))
        #expect(try parse("a == 1 AND b == 2 Or c == 3") == .or([.and([a, b]), c]))
        #expect(try parse("(a == 1 or b == 2) and c == 3") == .and([.or([a, b]), c]))
        #expect(try parse("((a == 1))") == a)
        #expect(try parse("(a==1)or(b==2)") == .or([a, b]))
    }

    @Test(arguments: [
        ("", 0, "expected a field"), ("   ", 3, "expected a field"), ("a", 1, "an operator"),
        ("a = 1", 2, "an operator"), ("a like b", 2, "an operator"), ("== 1", 0, "a field"),
        ("a ==", 4, "expected a value"), ("a == )", 5, "expected a value"),
        ("a == San Francisco", 9, "expected 'and', 'or' or the end"),
        ("a == 1 b == 2", 7, "expected 'and'"), ("a == 1 or", 9, "expected a field"),
        ("(a == 1", 7, "')'"), ("a == 1)", 6, "expected 'and'"), ("a in 5", 5, "requires a list"),
        ("a not-in x", 9, "requires a list"), ("a == \"x", 5, "without a matching '\"'"),
        ("a == {\"b\": 1", 5, "without a matching '}'"), ("a == [1, 2", 10, "']'"),
        ("a in [1,,2]", 8, "expected a value"),
        ("a == {\"b\": 1, \"b\": 2}", 5, "duplicate name 'b'"),
        ("a..b == 1", 0, "segment is empty"), ("`a == 1", 0, "backtick"),
        ("a == time:yesterday", 5, "RFC 3339"), ("a == ref:cities", 5, "ref:"),
        ("a == {\"$bytes\": 5}", 5, "base64"), ("a == 1 and2 == 3", 7, "expected 'and'"),
        ("a\\", 0, "ends with"),
    ])
    func `errors have their positions`(text: String, offset: Int, reason: String) {
        do throws(ExpressionFailure) {
            _ = try parse(text)
            Issue.record("'\(text)' was taken")
        } catch {
            #expect(error.offset == offset, "\(error)")
            #expect(error.reason.contains(reason), "\(error)")
        }
    }

    @Test func `hostile texts end with an error or a value, never otherwise`() {
        let deep = 100_000
        let texts = [
            String(repeating: "(", count: deep), "a == " + String(repeating: "[", count: deep),
            "a == " + String(repeating: "{\"a\":", count: deep),
            String(repeating: "`", count: deep + 1), String(repeating: "\\", count: deep),
            "a == \u{0}", "\u{0} == 1", "a == \"\\ud800\"",
            String(repeating: "a.", count: deep) + "a == 1",
        ]
        for text in texts {
            if let taken = try? parse(text) {
                #expect(text.contains("\u{0}"), "taken as \(taken)")
            }
        }
        let long = (0..<20_000).map { "a == \($0)" }.joined(separator: " or ")
        guard case .or(let parts)? = try? parse(long) else {
            Issue.record("a long condition is one")
            return
        }
        #expect(parts.count == 20_000)
    }

    @Test func `every cut of a condition is refused or shorter, and never traps`() throws {
        let text =
            #"(a.`b c` >= "x\"y" or t == time:2026-01-31T12:00:00Z) and c in [ref:a/b, {"d":1}]"#
        let whole = try parse(text)
        let bytes = Array(text.utf8)
        for count in 0..<bytes.count {
            let cut = String(decoding: bytes.prefix(count), as: UTF8.self)
            if let taken = try? parse(cut) { #expect(taken != whole, "\(cut)") }
        }
    }
}

@Suite struct ArgumentExpressionTests {
    private let database = DatabaseID(project: "p", database: "d")

    private func change(_ text: String) throws(ExpressionFailure) -> FieldChange {
        try FieldChange(text, database: database)
    }

    @Test(arguments: [
        ("a=1", FieldChange.Content.value(.integer(1))), ("a=1.5", .value(.double(1.5))),
        ("a=San Francisco, CA", .value(.string("San Francisco, CA"))), ("a=", .value(.string(""))),
        ("a=b=c", .value(.string("b=c"))), ("a= x ", .value(.string(" x "))),
        (#"a="1""#, .value(.string("1"))),
        ("a=[1, x]", .value(.array([.integer(1), .string("x")]))),
        ("a=null", .value(.null)), ("a=delete:", .delete), ("a=now:", .serverTimestamp),
        ("a=increment:-2", .increment(.integer(-2))), ("a=min:0.5", .minimum(.double(0.5))),
        ("a=max:7", .maximum(.integer(7))), ("a=union:[x]", .arrayUnion([.string("x")])),
        ("a=remove:[1]", .arrayRemove([.integer(1)])), ("a=delete", .value(.string("delete"))),
        (
            "a=ref:c/d", .value(.reference(ResourceName("projects/p/databases/d/documents/c/d")))
        ),
    ])
    func `a change is a field and a value or what becomes of it`(
        text: String, content: FieldChange.Content
    ) throws {
        let change = try change(text)
        #expect(change.content == content)
        #expect(change.field == (try FieldPath("a")))
    }

    @Test(arguments: [
        "a", "=1", "a=increment:x", "a=union:5", "a=[1", "a={\"b\"}", "a=\"x\" y", "a..b=1", "",
        "a=increment:", "a=ref:x", "a=time:5",
    ])
    func `a change that is none is refused`(text: String) {
        #expect(throws: ExpressionFailure.self) { try change(text) }
    }

    @Test func `--desc belongs to the order in front of it`() {
        #expect(
            OrderArgument.joined([
                "query", "c", "--order", "a", "--limit", "3", "--desc", "--order=b", "--order", "c",
                "--desc",
            ]) == [
                "query", "c", "--order", "a desc", "--limit", "3", "--order=b", "--order", "c desc",
            ])
        #expect(OrderArgument.joined(["query", "--desc"]) == ["query", "--desc"])
        #expect(OrderArgument.joined(["--order"]) == ["--order"])
        #expect(
            OrderArgument.joined(["--order", "a", "--", "--desc"]) == [
                "--order", "a", "--", "--desc",
            ])
    }

    @Test func `an index is a collection's id and fields`() throws {
        let argument = try CacheIndexArgument("cities: state, `a.b` desc,tags contains")
        #expect(
            CacheIndexArgument.text(of: argument.index)
                == "cities: state asc, `a.b` desc, tags contains")
        for wrong in [
            "", "cities", "cities:", ": a", "a/b: c", "c: a up", "c: a,", "c: a b", "c: a..b",
            "c: a contains, b contains",
            "c: " + Array(repeating: "x", count: 17).joined(separator: ","),
        ] {
            #expect(throws: ExpressionFailure.self, "\(wrong)") { try CacheIndexArgument(wrong) }
        }
    }
}
