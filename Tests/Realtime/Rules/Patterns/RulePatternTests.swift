import LarderSharedTestSupport
import Testing

@Suite("Regular expressions of rules")
struct RulePatternTests {
    /// Patterns, the texts in which each is found, and those in which it is not.
    private static let table: [(pattern: String, found: [String], missed: [String])] = [
        ("/a/", ["ba", "ab", "a"], ["", "b", "A"]),
        ("/^a/", ["ab"], ["ba", ""]),
        ("/a$/", ["ba"], ["ab"]),
        ("/^a*$/", ["", "aaa"], ["b", "ab"]),
        ("/^a+$/", ["a", "aaa"], [""]),
        ("/^a?$/", ["", "a"], ["aa"]),
        ("/......../", ["Firebase", "Firebases"], ["Fire"]),
        ("/(ab)*/", ["abab", "", "x"], []),
        ("/^(ab)*$/", ["abab", ""], ["aba"]),
        ("/a|bc/", ["ac", "bc", "xbcx"], ["b", "cb"]),
        ("/[akz]/", ["k"], ["b", "K"]),
        ("/^[a-z]+$/", ["abz"], ["aBz", "a1"]),
        ("/^[0-9A-F]+$/", ["09AF"], ["G", "a"]),
        ("/^[^0-9]+$/", ["abc"], ["a1"]),
        ("/yes/i", ["YES", "yEs", "oh yes"], ["ye"]),
        ("/^[a-f]+$/i", ["AbF"], ["g"]),
        ("/^[^a]+$/i", ["b"], ["A", "a"]),
        ("/^ä$/i", ["Ä", "ä"], ["a"]),
        (#"/^\s\w\d$/"#, [" a1", "\t_0"], ["aa1", " -1", " ab"]),
        (#"/^\S\W\D$/"#, ["a-b", "1 x"], [" -b", "aab", "a-1"]),
        (#"/^[\d.]+$/"#, ["1.5"], ["1,5"]),
        (#"/^[^\s]+$/"#, ["ab"], ["a b"]),
        (#"/\./"#, ["a.b"], ["ab"]),
        (#"/^\/a\/$/"#, ["/a/"], ["a"]),
        (#"/^[/]$/"#, ["/"], ["a"]),
        (#"/\\/"#, [#"a\b"#], ["ab"]),
        (#"/^\^\$$/"#, ["^$"], [""]),
        (#"/^a\$/"#, ["a$b"], ["a"]),
        (#"/^[\]\-]$/"#, ["]", "-"], ["\\"]),
        ("/^[-a]$/", ["-", "a"], ["b"]),
        ("/^[a-]$/", ["-", "a"], ["b"]),
        (#"/^[\d-x]$/"#, ["5", "-", "x"], ["a"]),
        ("/^[.*+?()]$/", ["*", "(", "."], ["a"]),
        ("/^a{2}$/", ["aa"], ["a", "aaa"]),
        ("/^a{2,}$/", ["aa", "aaaa"], ["a"]),
        ("/^a{1,3}$/", ["a", "aaa"], ["", "aaaa"]),
        ("/^a{0}b$/", ["b"], ["ab"]),
        ("/^(a|b){2}c$/", ["abc", "bbc"], ["ac"]),
        ("/^(a+b?)+$/", ["aab", "abaab"], ["b", "abb"]),
        ("/^a+*$/", ["", "aa"], ["b"]),
        (#"/\{foo}/"#, ["{foo}"], ["foo"]),
        ("/^/", ["", "a"], []),
        ("/$/", ["", "a"], []),
        ("/^$/", [""], ["a"]),
        ("/^a|b$/", ["a", "b"], ["ax", "xb"]),
        ("/^.$/", ["😀", "\n", "é"], ["", "ab"]),
        ("/^[😀-😎]$/", ["😃"], ["x", "😱"]),
        (
            #"/^(19|20)[0-9][0-9][-\/. ](0[1-9]|1[012])[-\/. ](0[1-9]|[12][0-9]|3[01])$/"#,
            ["1999-12-31", "2024/01/09"], ["1899-01-01", "2024-13-01", "2024-1-1", "2024-01-01 "]
        ),
        (
            #"/^[A-Z0-9._%+-]+@[A-Z0-9.-]+\.[A-Z]{2,4}$/i"#,
            ["bob@example.com", "A.b+c@x-y.org"],
            ["bob@example", "@example.com", "bob@ex ample.com"]
        ),
        (
            #"/^(ht|f)tp(s?):\/\/[0-9a-zA-Z]([-.\w]*[0-9a-zA-Z])*((0-9)*)*(\/?)([a-zA-Z0-9\-\.\?\,\'\/\\\+&=%\$#_]*)?$/"#,
            ["https://example.com/a?b=c", "ftp://x.org"], ["example.com", "http:/x"]
        ),
    ]

    @Test("patterns are found as their guide says")
    func table() throws {
        for (pattern, found, missed) in Self.table {
            for text in found {
                let expression = "\(Self.literal(text)).matches(\(pattern))"
                #expect(try RulesFixture.outcome(expression) == .holds, "\(expression)")
            }
            for text in missed {
                let expression = "\(Self.literal(text)).matches(\(pattern))"
                #expect(try RulesFixture.outcome(expression) == .fails, "\(expression)")
            }
        }
    }

    private static func literal(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n") + "'"
    }

    @Test(
        "invalid patterns are refused",
        arguments: [
            "/a/g", "/a/ig", "//", "/(/", "/)/", "/(a/", "/a)/", "/[/", "/[]/", "/[a/", "/*/",
            "/+a/",
            "/?/", "/a|/", "/|a/", "/(a|)/", "/()/", "/(^a$|b)/", "/a^b/", "/a$b/", "/(?:a)/",
            "/(?=a)/",
            "/a{/", "/a{1/", "/a{x}/", "/a{2,1}/", "/a{1001}/", "/{2}/", "/[z-a]/", "/a", #"/a\/"#,
            "/((((a{1000}){1000}){1000}){1000})/", "/(((a{0}){1000}){1000}){1000}/",
            "/^(foo|)$/", "/(^foo$|bar)/",
        ])
    func invalid(pattern: String) throws {
        #expect(try RulesFixture.outcome("'a'.matches(\(pattern))") == .invalid)
    }

    @Test("only texts match, and only regular expressions")
    func types() throws {
        for expression in ["auth.none.matches(/a/)", "data.child('size').val().matches(/3/)"] {
            #expect(try RulesFixture.outcome(expression) == .stops, "\(expression)")
        }
        for expression in [
            "'a'.matches('a')", "'a'.matches('/a/')", "'a'.matches()", "/a/.matches(/a/)",
        ] {
            #expect(try RulesFixture.outcome(expression) == .invalid, "\(expression)")
        }
    }

    @Test("patterns find what backtracking over the same pattern finds")
    func random() throws {
        var random = SeededRandom()
        for _ in 0..<2000 {
            let pattern = NaivePattern.random(&random, depth: 3)
            let (start, end) = (random.oneIn(2), random.oneIn(2))
            let source = (start ? "^" : "") + pattern.text + (end ? "$" : "")
            let text = String((0..<random.below(7)).map { _ in random.pick(Array("abc")) })
            let expected = NaivePattern.isFound(pattern, in: Array(text), start, end)
            let outcome = try RulesFixture.outcome("'\(text)'.matches(/\(source)/)")
            #expect(outcome == (expected ? .holds : .fails), "/\(source)/ in '\(text)': \(random)")
        }
    }
}

/// A pattern that is matched by trying all ways.
private indirect enum NaivePattern {
    case any
    case character(Character)
    case set([Character], isInverted: Bool)
    case sequence([NaivePattern])
    case union([NaivePattern])
    case repeated(NaivePattern, Int, Int?)

    static func random(_ random: inout SeededRandom, depth: Int) -> NaivePattern {
        let letters = Array("abc")
        switch random.below(depth == 0 ? 3 : 6) {
        case 0: return .any
        case 1: return .character(random.pick(letters))
        case 2:
            return .set([random.pick(letters), random.pick(letters)], isInverted: random.oneIn(3))
        case 3:
            return .sequence(
                (0...random.below(3)).map { _ in Self.random(&random, depth: depth - 1) })
        case 4:
            return .union((0...random.below(3)).map { _ in Self.random(&random, depth: depth - 1) })
        default:
            let minimum = random.below(3)
            let maximum = random.oneIn(2) ? nil : minimum + random.below(3)
            return .repeated(Self.random(&random, depth: depth - 1), minimum, maximum)
        }
    }

    var text: String {
        switch self {
        case .any: "."
        case .character(let character): String(character)
        case .set(let characters, let isInverted): "[\(isInverted ? "^" : "")\(String(characters))]"
        case .sequence(let parts): parts.map(\.text).joined()
        case .union(let branches): "(" + branches.map(\.text).joined(separator: "|") + ")"
        case .repeated(let part, let minimum, let maximum):
            "(\(part.text)){\(minimum),\(maximum.map { String($0) } ?? "")}"
        }
    }

    static func isFound(
        _ pattern: NaivePattern, in text: [Character], _ start: Bool, _ end: Bool
    ) -> Bool {
        (0...(start ? 0 : text.count)).contains { offset in
            pattern.ends(in: text, from: offset).contains { !end || $0 == text.count }
        }
    }

    /// Where matches from an offset end.
    private func ends(in text: [Character], from offset: Int) -> Set<Int> {
        func one(_ matches: (Character) -> Bool) -> Set<Int> {
            offset < text.count && matches(text[offset]) ? [offset + 1] : []
        }
        switch self {
        case .any: return one { _ in true }
        case .character(let expected): return one { $0 == expected }
        case .set(let characters, let isInverted):
            return one { characters.contains($0) != isInverted }
        case .sequence(let parts):
            return parts.reduce([offset]) { starts, part in
                Set(starts.flatMap { part.ends(in: text, from: $0) })
            }
        case .union(let branches):
            return Set(branches.flatMap { $0.ends(in: text, from: offset) })
        case .repeated(let part, let minimum, let maximum):
            var (current, result): (Set<Int>, Set<Int>) = ([offset], minimum == 0 ? [offset] : [])
            for count in 1...max(1, maximum ?? (minimum + text.count + 1)) {
                if maximum == 0 { break }
                current = Set(current.flatMap { part.ends(in: text, from: $0) })
                if count >= minimum { result.formUnion(current) }
            }
            return result
        }
    }
}
