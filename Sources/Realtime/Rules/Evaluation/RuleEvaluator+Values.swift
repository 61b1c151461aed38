import LarderCore
import LarderRealtimeModel

extension RuleEvaluator {
    // MARK: Values

    mutating func value(_ operand: RuleOperand) throws(Failure) -> RuleValue {
        switch operand {
        case .constant(let value): return value
        case .condition(let condition): return .boolean(try isTrue(condition))
        case .capture(let component): return .string(levels[component].key.text)
        case .auth: return RuleValue(context.auth)
        case .now: return .number(Double(context.milliseconds))
        case .query(let field): return parameters.value(of: field)
        case .member(let base, let name): return Self.member(name, of: try value(base))
        case .element(let base, let key):
            let owner = try value(base)
            return try Self.element(try value(key), of: owner)
        case .value(let location): return Self.value(of: try node(at: location))
        case .priority(let location):
            return Self.value(of: Node(try node(at: location).priority))
        case .arithmetic(let sign, let left, let right):
            return try arithmetic(sign, try value(left), try value(right))
        case .negative(let part): return .number(-(try number(part)))
        case .replacing(let text, let old, let new):
            let source = try string(text)
            let (part, replacement) = (try string(old), try string(new))
            return .string(try replacing(part, with: replacement, in: source))
        case .lowercased(let part):
            let text = try string(part)
            try spend(text.utf8.count)
            return .string(text.lowercased())
        case .uppercased(let part):
            let text = try string(part)
            try spend(text.utf8.count)
            return .string(text.uppercased())
        case .choice(let test, let first, let second):
            return try isTrue(test) ? try value(first) : try value(second)
        }
    }

    /// The text that an operand must be.
    mutating func string(_ operand: RuleOperand) throws(Failure) -> String {
        guard case .string(let text) = try value(operand) else { throw Failure() }
        return text
    }

    private mutating func number(_ operand: RuleOperand) throws(Failure) -> Double {
        guard case .number(let number) = try value(operand) else { throw Failure() }
        return number
    }

    private mutating func spend(_ count: Int) throws(Failure) {
        steps -= count
        guard steps >= 0 else { throw Failure() }
    }

    private static func value(of node: Node) -> RuleValue {
        switch node.leafValue {
        case nil: node.isEmpty ? .null : .children
        case .boolean(let flag)?: .boolean(flag)
        case .number(let number)?: .number(number.double)
        case .string(let text)?: .string(text)
        case .deferred?: .children
        }
    }

    /// A member of an object, or the length of a string; null where there is none.
    private static func member(_ name: String, of value: RuleValue) -> RuleValue {
        switch value {
        case .object(let json): RuleValue(json[name])
        case .string(let text) where name == "length": .number(Double(text.utf16.count))
        case .null, .boolean, .number, .string, .children: .null
        }
    }

    private static func element(
        _ key: RuleValue, of value: RuleValue
    ) throws(Failure) -> RuleValue {
        switch (key, value) {
        case (.number(let index), .object(.array(let elements))):
            guard let index = Int(exactly: index), elements.indices.contains(index) else {
                return .null
            }
            return RuleValue(elements[index])
        case (.number(let number), _): return member(RuleText.text(of: number), of: value)
        case (.string(let name), _): return member(name, of: value)
        default: throw Failure()
        }
    }

    private mutating func arithmetic(
        _ sign: RuleArithmetic, _ left: RuleValue, _ right: RuleValue
    ) throws(Failure) -> RuleValue {
        switch (left, right) {
        case (.number(let l), .number(let r)): return .number(sign.result(l, r))
        case (.string(let l), .string(let r)) where sign == .add: return try joined(l, r)
        case (.string(let l), .number(let r)) where sign == .add:
            return try joined(l, RuleText.text(of: r))
        case (.number(let l), .string(let r)) where sign == .add:
            return try joined(RuleText.text(of: l), r)
        default: throw Failure()
        }
    }

    private mutating func joined(
        _ left: String, _ right: String
    ) throws(Failure) -> RuleValue {
        let count = left.utf8.count + right.utf8.count
        guard count <= LeafValue.maximumStringBytes else { throw Failure() }
        try spend(count)
        return .string(left + right)
    }

    /// A text with all occurrences of another replaced.
    private mutating func replacing(
        _ old: String, with new: String, in text: String
    ) throws(Failure) -> String {
        guard !old.isEmpty else { throw Failure() }
        let (source, replacement) = (Array(text.utf8), Array(new.utf8))
        var (result, end): ([UInt8], Int) = ([], 0)
        var search = TextSearch(for: old, in: text)
        while let start = search.next(&steps) {
            result += source[end..<start] + replacement
            try spend(replacement.count)
            guard result.count <= LeafValue.maximumStringBytes else { throw Failure() }
            end = start + old.utf8.count
        }
        try spend(source.count)
        return String(decoding: result + source[end...], as: UTF8.self)
    }
}
