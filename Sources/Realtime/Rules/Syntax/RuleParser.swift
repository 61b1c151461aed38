/// A parser of rules' expressions: a subset of JavaScript's.
///
///     choice   any [ "?" choice ":" choice ]
///     any      all { "||" all }
///     all      equality { "&&" equality }
///     equality relation { ( "==" | "===" | "!=" | "!==" ) relation }
///     relation sum { ( "<" | "<=" | ">" | ">=" ) sum }
///     sum      product { ( "+" | "-" ) product }
///     product  prefix { ( "*" | "/" | "%" ) prefix }
///     prefix   ( "!" | "-" ) prefix | suffix
///     suffix   literal { "." name | "[" choice "]" | "(" list ")" }
///     literal  number | string | pattern | name | "[" list "]" | "(" choice ")"
struct RuleParser {
    /// The deepest nesting of expressions.
    static let maximumDepth = 100

    private var scanner: RuleScanner
    private var token = RuleToken.end
    /// The offset of the token.
    private var offset = 0
    /// The count of open brackets, prefixes and choices.
    private var nesting = 0

    private init(_ bytes: [UInt8]) throws(RulesFailure) {
        scanner = RuleScanner(bytes)
        try advance()
    }

    /// Parses an expression.
    static func parse(_ bytes: [UInt8]) throws(RulesFailure) -> RuleSyntax {
        var parser = try RuleParser(bytes)
        guard parser.token != .end else { throw RulesFailure(0, "the expression is empty") }
        let syntax = try parser.parseChoice()
        guard parser.token == .end else { throw parser.unexpected("an operator") }
        return syntax
    }

    private mutating func advance() throws(RulesFailure) {
        offset = try scanner.skipSpace()
        token = try scanner.next()
    }

    /// Reads a symbol if it is the next token.
    private mutating func accept(_ symbol: RuleSymbol) throws(RulesFailure) -> Bool {
        guard token == .symbol(symbol) else { return false }
        try advance()
        return true
    }

    private mutating func expect(_ symbol: RuleSymbol) throws(RulesFailure) {
        guard try accept(symbol) else { throw unexpected("'\(symbol.rawValue)'") }
    }

    private func unexpected(_ expected: String) -> RulesFailure {
        RulesFailure(offset, "expected \(expected) instead of \(token.text)")
    }

    private func syntax(
        _ form: RuleSyntax.Form, at offset: Int, _ parts: RuleSyntax...
    ) throws(RulesFailure) -> RuleSyntax {
        try syntax(form, at: offset, of: parts)
    }

    private func syntax(
        _ form: RuleSyntax.Form, at offset: Int, of parts: [RuleSyntax]
    ) throws(RulesFailure) -> RuleSyntax {
        let depth = 1 + parts.reduce(0) { max($0, $1.depth) }
        guard depth <= Self.maximumDepth else { throw Self.tooDeep(offset) }
        return RuleSyntax(form: form, offset: offset, depth: depth)
    }

    private static func tooDeep(_ offset: Int) -> RulesFailure {
        RulesFailure(offset, "the expression has more than \(maximumDepth) levels")
    }

    /// Parses something nested.
    private mutating func nested(
        _ parse: (inout RuleParser) throws(RulesFailure) -> RuleSyntax
    ) throws(RulesFailure) -> RuleSyntax {
        nesting += 1
        guard nesting <= Self.maximumDepth else { throw Self.tooDeep(offset) }
        let result = try parse(&self)
        nesting -= 1
        return result
    }

    // MARK: Operators

    private mutating func parseChoice() throws(RulesFailure) -> RuleSyntax {
        let condition = try parseAny()
        let start = offset
        guard try accept(.question) else { return condition }
        let first = try nested { (parser) throws(RulesFailure) in try parser.parseChoice() }
        try expect(.colon)
        let second = try nested { (parser) throws(RulesFailure) in try parser.parseChoice() }
        return try syntax(.choice(condition, first, second), at: start, condition, first, second)
    }

    private mutating func parseAny() throws(RulesFailure) -> RuleSyntax {
        let (first, start) = (try parseAll(), offset)
        var parts = [first]
        while try accept(.or) { parts.append(try parseAll()) }
        return parts.count == 1 ? first : try syntax(.any(parts), at: start, of: parts)
    }

    private mutating func parseAll() throws(RulesFailure) -> RuleSyntax {
        let (first, start) = (try parseEquality(), offset)
        var parts = [first]
        while try accept(.and) { parts.append(try parseEquality()) }
        return parts.count == 1 ? first : try syntax(.all(parts), at: start, of: parts)
    }

    private mutating func parseEquality() throws(RulesFailure) -> RuleSyntax {
        var left = try parseRelation()
        while true {
            let start = offset
            let isEqual: Bool
            switch token {
            case .symbol(.equal), .symbol(.identical): isEqual = true
            case .symbol(.notEqual), .symbol(.notIdentical): isEqual = false
            default: return left
            }
            try advance()
            let right = try parseRelation()
            left = try syntax(.equality(left, right, isEqual: isEqual), at: start, left, right)
        }
    }

    private mutating func parseRelation() throws(RulesFailure) -> RuleSyntax {
        var left = try parseSum()
        while case .symbol(let symbol) = token,
            let relation = RuleRelation(rawValue: symbol.rawValue)
        {
            let start = offset
            try advance()
            let right = try parseSum()
            left = try syntax(.comparison(relation, left, right), at: start, left, right)
        }
        return left
    }

    private mutating func parseSum() throws(RulesFailure) -> RuleSyntax {
        var left = try parseProduct()
        while token == .symbol(.plus) || token == .symbol(.minus) {
            let (start, sign) = (offset, token == .symbol(.plus) ? RuleArithmetic.add : .subtract)
            try advance()
            let right = try parseProduct()
            left = try syntax(.arithmetic(sign, left, right), at: start, left, right)
        }
        return left
    }

    private mutating func parseProduct() throws(RulesFailure) -> RuleSyntax {
        var left = try parsePrefix()
        while true {
            let start = offset
            let sign: RuleArithmetic
            switch token {
            case .symbol(.star): sign = .multiply
            case .symbol(.slash): sign = .divide
            case .symbol(.percent): sign = .remainder
            default: return left
            }
            try advance()
            let right = try parsePrefix()
            left = try syntax(.arithmetic(sign, left, right), at: start, left, right)
        }
    }

    private mutating func parsePrefix() throws(RulesFailure) -> RuleSyntax {
        let start = offset
        if try accept(.not) {
            let part = try nested { (parser) throws(RulesFailure) in try parser.parsePrefix() }
            return try syntax(.not(part), at: start, part)
        }
        if try accept(.minus) {
            let part = try nested { (parser) throws(RulesFailure) in try parser.parsePrefix() }
            return try syntax(.negative(part), at: start, part)
        }
        return try parseSuffix()
    }

    // MARK: Members and calls

    private mutating func parseSuffix() throws(RulesFailure) -> RuleSyntax {
        var base = try parseLiteral()
        while true {
            let start = offset
            if try accept(.dot) {
                guard case .name(let name) = token else { throw unexpected("a name") }
                base = try syntax(.member(base, name), at: offset, base)
                try advance()
            } else if try accept(.openBracket) {
                let key = try nested { (parser) throws(RulesFailure) in try parser.parseChoice() }
                try expect(.closeBracket)
                if case .string(let name) = key.form {
                    base = try syntax(.member(base, name), at: key.offset, base)
                } else {
                    base = try syntax(.element(base, key), at: start, base, key)
                }
            } else if try accept(.openParenthesis) {
                let arguments = try parseList(to: .closeParenthesis)
                base = try syntax(.call(base, arguments), at: base.offset, of: arguments + [base])
            } else {
                return base
            }
        }
    }

    /// Parses expressions between commas, and the bracket after them.
    private mutating func parseList(to end: RuleSymbol) throws(RulesFailure) -> [RuleSyntax] {
        var elements: [RuleSyntax] = []
        if try accept(end) { return elements }
        repeat {
            elements.append(
                try nested { (parser) throws(RulesFailure) in try parser.parseChoice() })
        } while try accept(.comma)
        try expect(end)
        return elements
    }

    private mutating func parseLiteral() throws(RulesFailure) -> RuleSyntax {
        let start = offset
        switch token {
        case .number(let number):
            try advance()
            return try syntax(.number(number), at: start)
        case .string(let text):
            try advance()
            return try syntax(.string(text), at: start)
        case .name(let name):
            try advance()
            switch name {
            case "true": return try syntax(.boolean(true), at: start)
            case "false": return try syntax(.boolean(false), at: start)
            case "null": return try syntax(.null, at: start)
            default: return try syntax(.name(name), at: start)
            }
        case .symbol(.slash):
            let pattern = try scanner.readPattern()
            try advance()
            return try syntax(.pattern(pattern), at: start)
        case .symbol(.openBracket):
            try advance()
            let elements = try parseList(to: .closeBracket)
            return try syntax(.list(elements), at: start, of: elements)
        case .symbol(.openParenthesis):
            try advance()
            let inner = try nested { (parser) throws(RulesFailure) in try parser.parseChoice() }
            try expect(.closeParenthesis)
            return inner
        default: throw unexpected("an expression")
        }
    }
}
