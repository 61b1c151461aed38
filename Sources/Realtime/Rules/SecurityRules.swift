public import LarderCore
import LarderRealtimeModel

/// The security rules of a Realtime Database, compiled: who may read and write what, how data must
/// look, and which queries have an index.
///
/// Rules are those of Firebase: JSON with comments and trailing commas, with an object `rules` that mirrors the tree.
/// `.read` and `.write` grant access to a place and to everything below it; `.validate` must hold
/// for all data that is written and not removed; `.indexOn` names the orders of queries. A rule
/// whose evaluation fails, because a value has another type than an operator needs, does not hold.
public struct SecurityRules: Sendable {
    let root: RuleTree
    /// The text of the rules file.
    public let text: String
    /// The steps that searching and building text may take in one rule, each about a byte.
    ///
    /// A rule that takes more does not hold.
    package var maximumSteps = 16 << 20

    /// Compiles the text of a rules file.
    ///
    /// - Throws: `invalidArgument` for invalid rules, with the line and column of the first
    ///   problem; ``problems(in:)`` has them all.
    ///
    /// Complexity: linear in the text.
    public init(_ text: String) throws(LarderError) {
        let (root, problems) = RulesBuilder.build(text)
        guard let root else {
            let first = problems.first?.description ?? "there are no rules"
            let more = problems.count > 1 ? " (and \(problems.count - 1) more)" : ""
            throw LarderError(realtime: .invalidArgument, "the rules are invalid: \(first)\(more)")
        }
        self.root = root
        self.text = text
    }

    private init(root: RuleTree, text: String) {
        self.root = root
        self.text = text
    }

    /// Rules that allow nothing but what administrators do.
    package static let administratorsOnly = SecurityRules(
        root: RuleTree([:], indexes: [], children: [:], wildcard: nil), text: #"{"rules": {}}"#)

    /// The text of rules that allow everything, which stand for none.
    package static let openText = """
        {
          "rules": {
            ".read": true,
            ".write": true
          }
        }
        """

    /// The rules file as JSON, without the comments around its values; nil for invalid text.
    package static func json(of text: String) -> JSONValue? {
        try? RulesReader.read(Array(text.utf8)).json
    }

    /// The problems of a rules file, in the order of the text; none for valid rules.
    public static func problems(in text: String) -> [RulesProblem] {
        RulesBuilder.build(text).problems
    }
}

/// What a request's rules see beside the tree.
package struct RulesContext: Sendable {
    /// The user's authentication, an object; null or nil for none.
    package var auth: JSONValue?
    /// The time of the request, in milliseconds since the Unix epoch.
    package var milliseconds: Int64

    package init(auth: JSONValue?, milliseconds: Int64) {
        self.auth = auth
        self.milliseconds = milliseconds
    }
}
