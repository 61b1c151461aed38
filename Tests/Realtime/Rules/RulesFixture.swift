import LarderCore
import LarderRealtimeModel
import LarderRealtimeRules
import LarderRealtimeTestSupport

/// The result of an expression.
enum RuleOutcome: String, Sendable {
    case holds
    case fails
    /// Evaluation fails, so that no rule holds that the expression is evaluated in.
    case stops
    /// The expression is refused.
    case invalid
}

/// What expressions of the tables are evaluated with: a write of the room "lobby" by the user "bob".
enum RulesFixture {
    static let before = """
        {"rooms": {"lobby": {
           "name": "Lobby", "size": 3, "ratio": 0.5, "open": true, "owner": "bob", "text": "",
           "members": {"bob": true, "ann": {"role": "admin"}},
           "ranked": {".value": "x", ".priority": 7}, "named": {".value": 1, ".priority": "p"}}},
         "users": {"bob": {"age": 30}}, "banned": {"bob@example.com": true}, "1": "one"}
        """

    static let room = """
        {"name": "Hall", "size": 4, "open": false, "owner": "bob", "added": {"a": 1, "b": {"c": "d"}}}
        """

    static let auth = """
        {"uid": "bob", "provider": "custom", "someString": "one", "someInt": 1, "someBool": true,
         "list": ["a", "b"],
         "token": {"email": "bob@example.com", "email_verified": true, "level": 2.5,
                   "foo": {"bar": true}, "length": 9}}
        """

    static let milliseconds: Int64 = 1_700_000_000_000

    /// A rules file with an expression for the rooms.
    static func file(_ expression: String, kind: String = ".write") -> String {
        #"{"rules": {"rooms": {"$room": {"\#(kind)": \#(quoted(expression))}}}}"#
    }

    static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        JSONWriter.append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    static func json(_ text: String) throws -> JSONValue {
        try JSONValue(parsing: Array(text.utf8))
    }

    /// The result of an expression as a `.write` rule of the rooms.
    static func outcome(_ expression: String, auth: String = auth) throws -> RuleOutcome {
        guard let rules = try? SecurityRules(file(expression)) else { return .invalid }
        if try allowsWrite(rules, auth) { return .holds }
        return try allowsWrite(SecurityRules(file("(\(expression)) || true")), auth)
            ? .fails : .stops
    }

    private static func allowsWrite(_ rules: SecurityRules, _ auth: String) throws -> Bool {
        let tree = try Node(parsing: before)
        let path = TreePath("rooms/lobby")
        let context = RulesContext(auth: try json(auth), milliseconds: milliseconds)
        return rules.allowsWrite(
            at: path, from: tree, to: tree.setting(path, to: try Node(parsing: room)), context)
    }

    /// The result of an expression as a `.read` rule of the rooms, for a query of the lobby.
    static func outcome(
        _ expression: String, of query: (QueryBuilder) throws -> QueryBuilder
    ) throws -> RuleOutcome {
        guard let rules = try? SecurityRules(file(expression, kind: ".read")) else {
            return .invalid
        }
        let spec = QuerySpec(TreePath("rooms/lobby"), try query(QueryBuilder()).parameters)
        let context = RulesContext(auth: try json(auth), milliseconds: milliseconds)
        let tree = try Node(parsing: before)
        if rules.allowsRead(of: spec, in: tree, context) { return .holds }
        let certain = try SecurityRules(file("(\(expression)) || true", kind: ".read"))
        return certain.allowsRead(of: spec, in: tree, context) ? .fails : .stops
    }
}

/// Expressions with the part of the documentation that says what they do.
struct RuleSection: Sendable, CustomStringConvertible {
    let source: String
    var auth = RulesFixture.auth
    var holds: [String] = []
    var fails: [String] = []
    var stops: [String] = []
    var invalid: [String] = []

    var description: String { source }

    var cases: [(expression: String, outcome: RuleOutcome)] {
        holds.map { ($0, .holds) } + fails.map { ($0, .fails) } + stops.map { ($0, .stops) }
            + invalid.map { ($0, .invalid) }
    }
}
