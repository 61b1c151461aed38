/// A problem of a security rules file, with its place.
public struct RulesProblem: Hashable, Sendable {
    /// The line, from 1.
    public let line: Int
    /// The column in bytes of UTF-8, from 1.
    public let column: Int
    /// The rule in which the problem is, as a path in the file such as "/users/$uid/.write"; empty
    /// if the file is no JSON.
    public let rule: String
    /// The description, in one line.
    public let message: String
}

extension RulesProblem: CustomStringConvertible {
    /// Line and column, the rule, and the message.
    public var description: String {
        let place = "line \(line), column \(column)"
        return rule.isEmpty ? "\(place): \(message)" : "\(place): \(rule): \(message)"
    }
}

/// A problem at an offset in bytes of the text that is read.
struct RulesFailure: Error, Equatable {
    var offset: Int
    let message: String

    init(_ offset: Int, _ message: String) {
        self.offset = offset
        self.message = message
    }
}
