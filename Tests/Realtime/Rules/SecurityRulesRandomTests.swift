import LarderCore
import LarderRealtimeModel
import LarderRealtimeRules
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("Damaged rules")
struct SecurityRulesRandomTests {
    private static let files: [String] = {
        let expressions = ExpressionTable.sections.flatMap { $0.holds + $0.fails + $0.stops }
        return RulesTable.cases.map(\.rules) + expressions.map { RulesFixture.file($0) }
    }()

    private static let fragments = [
        "(", ")", "[", "]", "{", "}", "\"", "'", "\\", "/", "//", "/*", "*/", ",", ":", ".", "$",
        "!",
        "&&", "||", "?", "==", "+", "-", "null", "true", "auth", "data", "newData", ".val()", "\\u",
        "\u{0}", "é", "😀", "1e999", ".read", "$room", "^", "{1000}", "*", "\n",
    ]

    /// A file with some bytes removed, repeated, exchanged or inserted.
    private func damaged(_ text: String, _ random: inout SeededRandom) -> String {
        var bytes = Array(text.utf8)
        for _ in 0...random.below(4) {
            let start = random.below(bytes.count + 1)
            let end = min(bytes.count, start + random.below(6))
            switch random.below(5) {
            case 0: bytes.removeSubrange(start..<end)
            case 1: bytes.insert(contentsOf: bytes[start..<end], at: start)
            case 2 where end > start: bytes[start] = UInt8(random.below(128))
            case 3:
                let other = Array(random.pick(Self.files).utf8)
                let from = random.below(other.count)
                bytes.insert(contentsOf: other[from..<min(other.count, from + 20)], at: start)
            default: bytes.insert(contentsOf: random.pick(Self.fragments).utf8, at: start)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("damaged files have problems at places of the text, or rules that can be evaluated")
    func mutations() throws {
        var random = SeededRandom()
        var (valid, invalid) = (0, 0)
        for _ in 0..<20_000 {
            let text = damaged(random.pick(Self.files), &random)
            let problems = SecurityRules.problems(in: text)
            let lines = text.utf8.split(separator: 10, omittingEmptySubsequences: false)
            for problem in problems {
                try #require((1...lines.count).contains(problem.line), "\(text): \(random)")
                let columns = 1...lines[problem.line - 1].count + 1
                try #require(columns.contains(problem.column), "\(problem) in \(text): \(random)")
            }
            guard let rules = try? SecurityRules(text) else {
                try #require(!problems.isEmpty, "\(text): \(random)")
                invalid += 1
                continue
            }
            try #require(problems.isEmpty, "\(text): \(random)")
            valid += 1
            evaluate(rules, &random)
        }
        #expect(valid > 1000 && invalid > 1000, "\(valid) \(invalid)")
    }

    private func evaluate(_ rules: SecurityRules, _ random: inout SeededRandom) {
        let (path, before) = (random.path(), random.node())
        let context = RulesContext(
            auth: .object([JSONMember("uid", .string(random.key().text))]), milliseconds: 1)
        _ = rules.allowsRead(of: QuerySpec(path, random.query()), in: before, context)
        _ = rules.allowsWrite(
            at: path, from: before, to: before.setting(path, to: random.node()), context)
        _ = rules.missingIndex(of: QuerySpec(path, random.query()))
    }

    @Test("deep and long files are refused or compiled, and never exhaust the stack")
    func size() throws {
        func isValid(_ text: String) -> Bool { SecurityRules.problems(in: text).isEmpty }
        func isValidExpression(_ text: String) -> Bool { isValid(RulesFixture.file(text)) }
        func repeated(_ text: String, _ count: Int) -> String {
            String(repeating: text, count: count)
        }

        for count in [1000, 100_000] {
            #expect(!isValid(repeated(#"{"rules":"#, count)))
            #expect(!isValid(repeated("[", count)))
            #expect(!isValidExpression(repeated("(", count) + "true" + repeated(")", count)))
            #expect(!isValidExpression(repeated("!", count) + "true"))
            #expect(!isValidExpression(repeated("- ", count) + "1 == 1"))
            #expect(!isValidExpression("1" + repeated(" + 1", count) + " == 1"))
            #expect(!isValidExpression("auth" + repeated(".a", count) + " == 1"))
            #expect(!isValidExpression("data" + repeated(".parent()", count) + ".exists()"))
            #expect(!isValidExpression("'a'" + repeated(".toLowerCase()", count) + " == 'a'"))
            #expect(!isValidExpression(repeated("true ? true : ", count) + "true"))
            #expect(
                !isValidExpression(repeated("true ? ", count) + "true" + repeated(": true", count)))
            #expect(!isValidExpression("true" + repeated(" == true", count)))
            #expect(
                !isValidExpression(
                    "auth" + repeated("[auth", count) + repeated("]", count) + " == 1"))
            #expect(
                !isValidExpression("'a'.matches(/\(repeated("(", count))a\(repeated(")", count))/)")
            )
            #expect(!isValidExpression("'a'.matches(/a\(repeated("*", count))/)"))
        }
        #expect(isValidExpression("true" + repeated(" && true", 20_000)))
        #expect(isValidExpression("auth.uid == 'a'" + repeated(" || auth.uid == 'b'", 10_000)))
        #expect(!isValid(#"{"rules": {}}"# + repeated(" ", 1 << 20)))
        let wide = (0..<10_000).map { #""k\#($0)": {".read": true}"# }.joined(separator: ",")
        #expect(isValid(#"{"rules": {\#(wide)}}"#))
    }
}
