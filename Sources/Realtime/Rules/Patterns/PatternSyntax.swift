/// A part of a regular expression as it is written.
indirect enum PatternSyntax {
    /// Any character.
    case any
    case character(Unicode.Scalar)
    case set(ScalarSet)
    case sequence([PatternSyntax])
    /// One of several.
    case union([PatternSyntax])
    /// Repetitions; without a maximum, any count of them.
    case repeated(PatternSyntax, minimum: Int, maximum: Int?)
}

/// A parser of regular expressions.
///
///     pattern  [ "^" ] union [ "$" ]
///     union    sequence { "|" sequence }
///     sequence repeat { repeat }
///     repeat   part { "*" | "+" | "?" | "{" n "}" | "{" n "," "}" | "{" n "," m "}" }
///     part     "." | "(" union ")" | "[" [ "^" ] set "]" | "\" character | character
struct PatternParser {
    /// The deepest nesting of groups and repetitions.
    static let maximumDepth = 50
    /// The largest count of repetitions that a pattern may ask for.
    static let maximumCount = 1000

    private let scalars: [Unicode.Scalar]
    private var index = 0
    private var end: Int
    private var depth = 0

    private(set) var isAnchoredAtStart = false
    private(set) var isAnchoredAtEnd = false

    init(_ source: [UInt8]) {
        scalars = Array(String(decoding: source, as: UTF8.self).unicodeScalars)
        end = scalars.count
    }

    private var next: Unicode.Scalar? { index < end ? scalars[index] : nil }

    /// A problem at the next character.
    private func failure(_ message: String) -> RulesFailure {
        let offset = scalars.prefix(index).reduce(0) { $0 + UTF8.width($1) }
        return RulesFailure(offset, message)
    }

    private mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
        guard next == scalar else { return false }
        index += 1
        return true
    }

    /// Parses the whole pattern.
    mutating func parse() throws(RulesFailure) -> PatternSyntax {
        isAnchoredAtStart = accept("^")
        if scalars.last == "$", end - index > 0, !isEscaped(end - 1) {
            isAnchoredAtEnd = true
            end -= 1
        }
        if next == nil, isAnchoredAtStart || isAnchoredAtEnd { return .sequence([]) }
        let result = try parseUnion()
        guard next == nil else { throw failure("')' closes no group") }
        return result
    }

    /// True if a backslash belongs to the character.
    private func isEscaped(_ position: Int) -> Bool {
        scalars[..<position].reversed().prefix { $0 == "\\" }.count % 2 == 1
    }

    private mutating func parseUnion() throws(RulesFailure) -> PatternSyntax {
        depth += 1
        guard depth <= Self.maximumDepth else {
            throw failure("more than \(Self.maximumDepth) levels of groups")
        }
        var branches = [try parseSequence()]
        while accept("|") { branches.append(try parseSequence()) }
        depth -= 1
        return branches.count == 1 ? branches[0] : .union(branches)
    }

    private mutating func parseSequence() throws(RulesFailure) -> PatternSyntax {
        var parts: [PatternSyntax] = []
        while let scalar = next, scalar != "|", scalar != ")" { parts.append(try parseRepeated()) }
        guard !parts.isEmpty else { throw failure("an empty part of a regular expression") }
        return parts.count == 1 ? parts[0] : .sequence(parts)
    }

    // MARK: Repetitions

    private mutating func parseRepeated() throws(RulesFailure) -> PatternSyntax {
        var part = try parsePart()
        var count = 0
        while let (minimum, maximum) = try parseCounts() {
            count += 1
            guard count <= Self.maximumDepth else { throw failure("too many repetitions") }
            part = .repeated(part, minimum: minimum, maximum: maximum)
        }
        return part
    }

    private mutating func parseCounts() throws(RulesFailure) -> (Int, Int?)? {
        if accept("*") { return (0, nil) }
        if accept("+") { return (1, nil) }
        if accept("?") { return (0, 1) }
        guard accept("{") else { return nil }
        let minimum = try parseCount()
        var maximum: Int? = minimum
        if accept(",") { maximum = next == "}" ? nil : try parseCount() }
        guard accept("}") else { throw failure("expected '}' after a count") }
        guard maximum.map({ $0 >= minimum }) ?? true else {
            throw failure("the larger count of repetitions comes first")
        }
        return (minimum, maximum)
    }

    private mutating func parseCount() throws(RulesFailure) -> Int {
        let start = index
        while let scalar = next, ("0"..."9").contains(scalar) { index += 1 }
        let digits = String(String.UnicodeScalarView(scalars[start..<index]))
        guard let count = Int(digits) else { throw failure("expected a count of repetitions") }
        guard count <= Self.maximumCount else {
            throw failure("more than \(Self.maximumCount) repetitions")
        }
        return count
    }

    // MARK: Parts

    private mutating func parsePart() throws(RulesFailure) -> PatternSyntax {
        guard let scalar = next else { throw failure("the regular expression is incomplete") }
        switch scalar {
        case ".":
            index += 1
            return .any
        case "(":
            index += 1
            if next == "?" { throw failure("groups have no options") }
            let group = try parseUnion()
            guard accept(")") else { throw failure("the group has no end") }
            return group
        case "[":
            index += 1
            return .set(try parseSet())
        case "\\": return try parseEscape()
        case "^", "$":
            throw failure(
                "'\(scalar)' is allowed at the \(scalar == "^" ? "beginning" : "end") only")
        case "*", "+", "?", "{": throw failure("'\(scalar)' repeats nothing")
        default:
            index += 1
            return .character(scalar)
        }
    }

    private mutating func parseEscape() throws(RulesFailure) -> PatternSyntax {
        index += 1
        guard let scalar = next else { throw failure("the regular expression is incomplete") }
        index += 1
        return ScalarSet.ranges(named: scalar).map { .set(ScalarSet($0)) } ?? .character(scalar)
    }

    /// Parses a set after its opening bracket.
    private mutating func parseSet() throws(RulesFailure) -> ScalarSet {
        let isInverted = accept("^")
        var ranges: [ClosedRange<UInt32>] = []
        repeat {
            guard let first = try parseSetMember(&ranges) else { continue }
            guard next == "-", index + 1 < end, scalars[index + 1] != "]" else {
                ranges.append(first...first)
                continue
            }
            index += 1
            guard let last = try parseSetMember(&ranges) else {
                ranges += [first...first, 0x2D...0x2D]
                continue
            }
            guard first <= last else { throw failure("a range of characters is empty") }
            ranges.append(first...last)
        } while !accept("]")
        return ScalarSet(ranges, isInverted: isInverted)
    }

    /// Parses a character of a set.
    ///
    /// - Returns: nil for a named set, which is added to the ranges.
    private mutating func parseSetMember(
        _ ranges: inout [ClosedRange<UInt32>]
    ) throws(RulesFailure) -> UInt32? {
        guard let scalar = next else { throw failure("the set has no end") }
        index += 1
        if scalar == "]" { throw failure("the set is empty") }
        guard scalar == "\\" else { return scalar.value }
        guard let escaped = next else { throw failure("the set has no end") }
        index += 1
        guard let named = ScalarSet.ranges(named: escaped) else { return escaped.value }
        ranges += named
        return nil
    }
}
