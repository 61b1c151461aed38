import LarderRealtimeModel

/// The kinds of rules with expressions.
enum RuleKind: String, CaseIterable, Sendable {
    case read = ".read"
    case write = ".write"
    case validate = ".validate"
}

/// Where a rule is: what its expression can refer to.
struct RuleScope {
    let kind: RuleKind
    /// The count of components of the paths that the rule is for.
    let level: Int
    /// The variables in the rule's path, and the components that they capture.
    let captures: [(name: String, component: Int)]
}

/// Checks the types of an expression and compiles it.
struct RuleCompiler {
    let scope: RuleScope

    /// An expression of any kind.
    enum Compiled {
        case condition(RuleCondition)
        case operand(RuleOperand, RuleType)
        case location(RuleLocation)
        case query
        case pattern(RulePattern)
        case list([RuleSyntax])

        /// The kind in words, for messages.
        var text: String {
            switch self {
            case .condition: "a boolean"
            case .operand(_, .null): "null"
            case .operand(_, let type): type.isOpen ? "a value" : "a \(type.rawValue)"
            case .location: "a snapshot"
            case .query: "the query"
            case .pattern: "a regular expression"
            case .list: "a list"
            }
        }
    }

    /// Compiles the expression of a rule.
    static func compile(
        _ syntax: RuleSyntax, in scope: RuleScope
    ) throws(RulesFailure) -> RuleCondition {
        try RuleCompiler(scope: scope).condition(syntax, "a rule")
    }

    // MARK: Expected kinds

    /// An expression that must be boolean for certain.
    ///
    /// - Parameter owner: what needs it, for the message.
    private func condition(
        _ syntax: RuleSyntax, _ owner: String
    ) throws(RulesFailure) -> RuleCondition {
        let compiled = try compile(syntax)
        guard case .condition(let condition) = compiled else {
            let remedy: String
            if case .operand(_, let type) = compiled, type.isOpen {
                remedy = "; compare it with '== true'"
            } else {
                remedy = ""
            }
            throw RulesFailure(
                syntax.offset, "\(owner) must be boolean, not \(compiled.text)\(remedy)")
        }
        return condition
    }

    /// An expression with a value.
    func operand(
        _ syntax: RuleSyntax, _ owner: String
    ) throws(RulesFailure) -> (RuleOperand, RuleType) {
        switch try compile(syntax) {
        case .condition(let condition): return (.condition(condition), .boolean)
        case .operand(let operand, let type): return (operand, type)
        case .location:
            throw RulesFailure(syntax.offset, "\(owner) must be a value, not a snapshot: use val()")
        case let other:
            throw RulesFailure(syntax.offset, "\(owner) must be a value, not \(other.text)")
        }
    }

    /// An expression whose value can be of one of some types.
    func operand(
        _ syntax: RuleSyntax, _ owner: String, _ types: RuleType...
    ) throws(RulesFailure) -> (RuleOperand, RuleType) {
        let (value, type) = try operand(syntax, owner)
        guard types.contains(where: { type.canBe($0) }) else {
            let names = types.map(\.rawValue).joined(separator: " or ")
            let found = Compiled.operand(value, type).text
            throw RulesFailure(syntax.offset, "\(owner) must be a \(names), not \(found)")
        }
        return (value, type)
    }

    // MARK: Expressions

    func compile(_ syntax: RuleSyntax) throws(RulesFailure) -> Compiled {
        switch syntax.form {
        case .null: return .operand(.constant(.null), .null)
        case .boolean(let flag): return .condition(.constant(flag))
        case .number(let number): return .operand(.constant(.number(number)), .number)
        case .string(let text): return .operand(.constant(.string(text)), .string)
        case .pattern(let pattern): return .pattern(pattern)
        case .list(let elements): return .list(elements)
        case .name(let name): return try variable(name, at: syntax.offset)
        case .member(let base, let name): return try member(base, name, at: syntax.offset)
        case .element(let base, let key): return try element(base, key)
        case .call(let callee, let arguments):
            return try call(callee, arguments, at: syntax.offset)
        case .not(let part): return .condition(.not(try condition(part, "the operand of '!'")))
        case .negative(let part):
            return .operand(.negative(try operand(part, "the operand of '-'", .number).0), .number)
        case .all(let parts): return .condition(.all(try conditions(parts, "'&&'")))
        case .any(let parts): return .condition(.any(try conditions(parts, "'||'")))
        case .equality(let left, let right, let isEqual):
            let equal = RuleCondition.equal(
                try operand(left, "an operand of '=='").0,
                try operand(right, "an operand of '=='").0)
            return .condition(isEqual ? equal : .not(equal))
        case .comparison(let relation, let left, let right):
            return try comparison(relation, left, right, at: syntax.offset)
        case .arithmetic(let sign, let left, let right): return try arithmetic(sign, left, right)
        case .choice(let test, let first, let second): return try choice(test, first, second)
        }
    }

    private func conditions(
        _ parts: [RuleSyntax], _ sign: String
    ) throws(RulesFailure) -> [RuleCondition] {
        var conditions: [RuleCondition] = []
        for part in parts { conditions.append(try condition(part, "an operand of \(sign)")) }
        return conditions
    }

    private func comparison(
        _ relation: RuleRelation, _ left: RuleSyntax, _ right: RuleSyntax, at offset: Int
    ) throws(RulesFailure) -> Compiled {
        let owner = "an operand of '\(relation.rawValue)'"
        let (first, firstType) = try operand(left, owner, .number, .string)
        let (second, secondType) = try operand(right, owner, .number, .string)
        guard firstType == secondType || firstType.isOpen || secondType.isOpen else {
            throw RulesFailure(
                offset, "'\(relation.rawValue)' cannot compare a \(firstType) with a \(secondType)")
        }
        return .condition(.compare(relation, first, second))
    }

    private func arithmetic(
        _ sign: RuleArithmetic, _ left: RuleSyntax, _ right: RuleSyntax
    ) throws(RulesFailure) -> Compiled {
        let owner = "an operand of '\(sign.rawValue)'"
        guard sign == .add else {
            let first = try operand(left, owner, .number).0
            let second = try operand(right, owner, .number).0
            return .operand(.arithmetic(sign, first, second), .number)
        }
        let (first, firstType) = try operand(left, owner, .number, .string)
        let (second, secondType) = try operand(right, owner, .number, .string)
        let type: RuleType
        if firstType == .string || secondType == .string {
            type = .string
        } else {
            type = firstType == .number && secondType == .number ? .number : .primitive
        }
        return .operand(.arithmetic(.add, first, second), type)
    }

    private func choice(
        _ test: RuleSyntax, _ first: RuleSyntax, _ second: RuleSyntax
    ) throws(RulesFailure) -> Compiled {
        let condition = try self.condition(test, "the condition of '?'")
        switch (try compile(first), try compile(second)) {
        case (.condition(let left), .condition(let right)):
            return .condition(.choice(condition, left, right))
        case (.location(let left), .location(let right)):
            return .location(.choice(condition, left, right))
        default:
            let (left, leftType) = try operand(first, "an operand of '?'")
            let (right, rightType) = try operand(second, "an operand of '?'")
            return .operand(.choice(condition, left, right), leftType.or(rightType))
        }
    }

    // MARK: Variables

    private func variable(_ name: String, at offset: Int) throws(RulesFailure) -> Compiled {
        switch name {
        case "auth": return .operand(.auth, .any)
        case "now": return .operand(.now, .number)
        case "query": return .query
        case "root": return .location(.place(.init(isAfterWrite: false, level: 0)))
        case "data": return .location(.place(.init(isAfterWrite: false, level: scope.level)))
        case "newData":
            guard scope.kind != .read else {
                throw RulesFailure(offset, "'newData' is not available in .read")
            }
            return .location(.place(.init(isAfterWrite: true, level: scope.level)))
        default:
            guard let capture = scope.captures.first(where: { $0.name == name }) else {
                throw RulesFailure(offset, "the variable '\(name)' is unknown")
            }
            return .operand(.capture(component: capture.component), .string)
        }
    }
}
