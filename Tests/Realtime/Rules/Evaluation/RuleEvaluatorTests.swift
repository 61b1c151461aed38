import LarderCore
import LarderRealtimeModel
import LarderRealtimeRules
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("Evaluation of rules")
struct RuleEvaluatorTests {
    private static let authentications = [
        "null", #"{"uid": "a"}"#,
        #"{"uid": "foo", "token": {"admin": true, "level": 2, "uid": "b", "length": 3}, "admin": "1"}"#,
    ]

    /// The rules file of an expression for all paths of a length.
    private func file(_ expression: String, _ level: Int) -> String {
        let place = #"{".write": \#(RulesFixture.quoted(expression))}"#
        let rules = (0..<level).reversed().reduce(place) { #"{"$v\#($1)": \#($0)}"# }
        return #"{"rules": \#(rules)}"#
    }

    @Test("random expressions have the results of an evaluator without any preparation")
    func differential() throws {
        var random = SeededRandom()
        var counts: [RuleOutcome: Int] = [:]
        for _ in 0..<4000 {
            let path = random.path()
            let before = random.node()
            let after = before.setting(path, to: random.node())
            let auth = try RulesFixture.json(random.pick(Self.authentications))
            let expression = random.condition(1 + random.below(5), path.count)
            let world = NaiveWorld(
                before: PlainTree(before), after: PlainTree(after), path: path.map(\.text),
                auth: auth, now: 1000)
            let expected: RuleOutcome
            do {
                guard case .boolean(let flag) = try expression.value(in: world) else { continue }
                expected = flag ? .holds : .fails
            } catch NaiveEnd.failure {
                expected = .stops
            } catch NaiveEnd.unknown {
                continue
            }
            func allows(_ text: String) throws -> Bool {
                try SecurityRules(file(text, path.count)).allowsWrite(
                    at: path, from: before, to: after, RulesContext(auth: auth, milliseconds: 1000))
            }
            let text = expression.text
            let outcome: RuleOutcome =
                try allows(text) ? .holds : try allows("(\(text)) || true") ? .fails : .stops
            try #require(
                outcome == expected,
                "\(text)\nat \(path) of \(before) to \(after), \(auth): \(random)")
            counts[outcome, default: 0] += 1
        }
        for outcome in [RuleOutcome.holds, .fails, .stops] {
            #expect(counts[outcome, default: 0] > 200, "\(counts)")
        }
    }

    @Test("text grows to the longest string at most")
    func growth() throws {
        let tree = try Node(parsing: #"{"t": "\#(String(repeating: "ab", count: 1 << 20))"}"#)
        func allows(_ expression: String) throws -> Bool {
            try SecurityRules(file(expression, 0)).allowsWrite(
                at: .root, from: tree, to: tree, RulesContext(auth: nil, milliseconds: 0))
        }
        let text = "data.child('t').val()"
        #expect(try allows("(\(text) + \(text)).length > 4000000"))
        let sum = (0..<20).map { _ in text }.joined(separator: " + ")
        #expect(try !allows("(\(sum)).length > 0"))
        #expect(try !allows("\(text).replace('a', \(text)).length > 0"))
        #expect(try !allows("\(text).replace('a', \(text)).replace('a', \(text)) == '' || true"))
    }

    @Test("searches and new text end where they take more steps than are allowed")
    func searches() throws {
        let text = String(repeating: "a", count: 1 << 14)
        let tree = try Node(parsing: #"{"t": "\#(text)", "u": "\#(text.dropLast(1 << 13))b"}"#)
        func allows(_ expression: String) throws -> Bool {
            var rules = try SecurityRules(file(expression, 0))
            rules.maximumSteps = 1 << 18
            return rules.allowsWrite(
                at: .root, from: tree, to: tree, RulesContext(auth: nil, milliseconds: 0))
        }
        #expect(try allows("data.child('t').val().matches(/^a+$/)"))
        #expect(try allows("!data.child('t').val().matches(/(a*)*(a|aa)+b$/)"))
        #expect(try allows("data.child('t').val().contains('aaaa')"))
        #expect(try allows("data.child('t').val().toUpperCase() != ''"))
        for expression in [
            "data.child('t').val().contains(data.child('u').val())",
            "data.child('t').val().matches(/((a{1,30}){1,30})b/)",
            "data.child('t').val().replace('a', '0123456789abcdef') == ''",
            "data.child('t').val()" + String(repeating: ".toLowerCase()", count: 20) + " == ''",
        ] {
            #expect(try !allows("\(expression) || true"), "\(expression)")
        }
    }
}
