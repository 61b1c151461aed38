import Foundation
import LarderCore
import LarderRealtimeTestSupport

/// A value of the naive evaluator.
enum NaiveValue {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case object(JSONValue)
    /// The value of a node with children.
    case children
    /// A place by its path, before or after the write.
    case snapshot(isAfter: Bool, path: [String])
    case list([NaiveValue])
}

/// What expressions are evaluated with, in the simplest form.
struct NaiveWorld {
    var before: PlainTree
    var after: PlainTree
    /// The path of the rule.
    var path: [String]
    var auth: JSONValue
    var now: Double
}

/// Why the naive evaluator has no value.
enum NaiveEnd: Error {
    /// The evaluation fails.
    case failure
    /// The result depends on a notation of numbers that the naive evaluator does not know.
    case unknown
}

/// An expression, evaluated by going through it with no preparation, and written as text.
indirect enum NaiveExpression {
    case literal(NaiveValue)
    case name(String)
    case list([NaiveExpression])
    case prefix(String, NaiveExpression)
    case infix(NaiveExpression, String, NaiveExpression)
    case choice(NaiveExpression, NaiveExpression, NaiveExpression)
    case member(NaiveExpression, String)
    case element(NaiveExpression, NaiveExpression)
    case call(NaiveExpression, String, [NaiveExpression])

    // MARK: Text

    private static let precedences = [
        "||": 1, "&&": 2, "==": 3, "!=": 3, "===": 3, "!==": 3, "<": 4, "<=": 4, ">": 4, ">=": 4,
        "+": 5, "-": 5, "*": 6, "/": 6, "%": 6,
    ]

    private var precedence: Int {
        switch self {
        case .choice: 0
        case .infix(_, let sign, _): Self.precedences[sign] ?? 0
        case .prefix: 7
        case .literal, .name, .list, .member, .element, .call: 8
        }
    }

    /// The expression with as few parentheses as its meaning allows.
    var text: String { text(8) }

    private func text(_ outer: Int) -> String {
        let text: String
        switch self {
        case .literal(let value): text = value.literal
        case .name(let name): text = name
        case .list(let elements):
            text = "[" + elements.map { $0.text(0) }.joined(separator: ", ") + "]"
        case .prefix(let sign, let part): text = sign + (sign == "-" ? " " : "") + part.text(7)
        case .infix(let left, let sign, let right):
            text = "\(left.text(precedence)) \(sign) \(right.text(precedence + 1))"
        case .choice(let test, let first, let second):
            text = "\(test.text(1)) ? \(first.text(0)) : \(second.text(0))"
        case .member(let base, let name): text = base.text(8) + "." + name
        case .element(let base, let key): text = base.text(8) + "[" + key.text(0) + "]"
        case .call(let base, let name, let arguments):
            text =
                base.text(8) + "." + name + "("
                + arguments.map { $0.text(0) }.joined(separator: ",") + ")"
        }
        return precedence < outer ? "(" + text + ")" : text
    }

    // MARK: Evaluation

    func value(in world: NaiveWorld) throws -> NaiveValue {
        switch self {
        case .literal(let value): return value
        case .name("auth"): return NaiveValue(world.auth)
        case .name("now"): return .number(world.now)
        case .name("root"): return .snapshot(isAfter: false, path: [])
        case .name("data"): return .snapshot(isAfter: false, path: world.path)
        case .name("newData"): return .snapshot(isAfter: true, path: world.path)
        case .name(let name): return .string(world.path[Int(name.dropFirst(2)) ?? 0])
        case .list(let elements): return .list(try elements.map { try $0.value(in: world) })
        case .prefix("!", let part): return .boolean(try !part.flag(in: world))
        case .prefix(_, let part): return .number(-(try part.number(in: world)))
        case .infix(let left, "&&", let right):
            return .boolean(try left.flag(in: world) ? right.flag(in: world) : false)
        case .infix(let left, "||", let right):
            return .boolean(try left.flag(in: world) ? true : right.flag(in: world))
        case .infix(let left, let sign, let right):
            return try Self.result(sign, left.value(in: world), right.value(in: world))
        case .choice(let test, let first, let second):
            return try test.flag(in: world) ? first.value(in: world) : second.value(in: world)
        case .member(let base, let name): return try base.value(in: world).member(name)
        case .element(let base, let key):
            let base = try base.value(in: world)
            guard case .string(let name) = try key.value(in: world) else { throw NaiveEnd.failure }
            return base.member(name)
        case .call(let base, let name, let arguments):
            let base = try base.value(in: world)
            return try base.call(name, arguments.map { try $0.value(in: world) }, world)
        }
    }

    private func flag(in world: NaiveWorld) throws -> Bool {
        guard case .boolean(let flag) = try value(in: world) else { throw NaiveEnd.failure }
        return flag
    }

    private func number(in world: NaiveWorld) throws -> Double {
        guard case .number(let number) = try value(in: world) else { throw NaiveEnd.failure }
        return number
    }

    private static func result(
        _ sign: String, _ left: NaiveValue, _ right: NaiveValue
    ) throws -> NaiveValue {
        switch (sign, left, right) {
        case ("==", _, _), ("===", _, _): return .boolean(left.isEqual(to: right))
        case ("!=", _, _), ("!==", _, _): return .boolean(!left.isEqual(to: right))
        case ("<", .number(let l), .number(let r)): return .boolean(l < r)
        case ("<=", .number(let l), .number(let r)): return .boolean(l <= r)
        case (">", .number(let l), .number(let r)): return .boolean(l > r)
        case (">=", .number(let l), .number(let r)): return .boolean(l >= r)
        case ("<", .string(let l), .string(let r)): return .boolean(l.isBelow(r))
        case ("<=", .string(let l), .string(let r)): return .boolean(!r.isBelow(l))
        case (">", .string(let l), .string(let r)): return .boolean(r.isBelow(l))
        case (">=", .string(let l), .string(let r)): return .boolean(!l.isBelow(r))
        case ("+", .number(let l), .number(let r)): return .number(l + r)
        case ("-", .number(let l), .number(let r)): return .number(l - r)
        case ("*", .number(let l), .number(let r)): return .number(l * r)
        case ("/", .number(let l), .number(let r)): return .number(r == 0 ? .nan : l / r)
        case ("%", .number(let l), .number(let r)): return .number(fmod(l, r))
        case ("+", .string, _), ("+", _, .string):
            return .string(try left.concatenated() + right.concatenated())
        default: throw NaiveEnd.failure
        }
    }
}

extension NaiveValue {
    init(_ json: JSONValue?) {
        switch json {
        case nil, .null?: self = .null
        case .boolean(let flag)?: self = .boolean(flag)
        case .integer(let integer)?: self = .number(Double(integer))
        case .double(let double)?: self = .number(double)
        case .string(let text)?: self = .string(text)
        case .array(let elements)?: self = .object(.array(elements))
        case .object(let members)?: self = .object(.object(members))
        }
    }

    fileprivate var literal: String {
        switch self {
        case .boolean(let flag): "\(flag)"
        case .number(let number): Int(exactly: number).map { "\($0)" } ?? "\(number)"
        case .string(let text):
            "'"
                + text.replacingOccurrences(of: "\\", with: "\\\\")
                .replacingOccurrences(of: "'", with: "\\'") + "'"
        default: "null"
        }
    }

    fileprivate func isEqual(to other: NaiveValue) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.boolean(let l), .boolean(let r)): l == r
        case (.number(let l), .number(let r)): l == r
        case (.string(let l), .string(let r)): Array(l.utf8) == Array(r.utf8)
        case (.object(let l), .object(let r)): l == r
        default: false
        }
    }

    fileprivate func concatenated() throws -> String {
        switch self {
        case .string(let text): return text
        case .number(let number):
            if number.isNaN { return "NaN" }
            if let integer = Int(exactly: number) { return "\(integer)" }
            guard (1e-3..<1e15).contains(abs(number)) else { throw NaiveEnd.unknown }
            return "\(number)"
        default: throw NaiveEnd.failure
        }
    }

    fileprivate func member(_ name: String) -> NaiveValue {
        switch self {
        case .object(.object(let members)):
            NaiveValue(members.first { Array($0.name.utf8) == Array(name.utf8) }?.value)
        case .string(let text) where name == "length": .number(Double(Array(text.utf16).count))
        default: .null
        }
    }

    // MARK: Methods

    fileprivate func call(
        _ name: String, _ arguments: [NaiveValue], _ world: NaiveWorld
    ) throws -> NaiveValue {
        switch self {
        case .string(let text): return try Self.call(name, of: text, arguments)
        case .snapshot(let isAfter, let path):
            if name == "parent" {
                guard !path.isEmpty else { throw NaiveEnd.failure }
                return .snapshot(isAfter: isAfter, path: Array(path.dropLast()))
            }
            if name == "child" {
                return .snapshot(isAfter: isAfter, path: path + (try arguments[0].path()))
            }
            let tree = (isAfter ? world.after : world.before)[path]
            return try Self.call(name, of: tree, arguments)
        default: throw NaiveEnd.failure
        }
    }

    private func path() throws -> [String] {
        guard case .string(let text) = self else { throw NaiveEnd.failure }
        return text.components(separatedBy: "/").filter { !$0.isEmpty }
    }

    private static func call(
        _ name: String, of tree: PlainTree, _ arguments: [NaiveValue]
    ) throws -> NaiveValue {
        switch (name, tree.value) {
        case ("val", let value?): return NaiveValue(value)
        case ("val", nil): return tree.isEmpty ? .null : .children
        case ("getPriority", _): return NaiveValue(tree.priority)
        case ("exists", _): return .boolean(!tree.isEmpty)
        case ("isString", .string?), ("isBoolean", .boolean?), ("isNumber", .integer?),
            ("isNumber", .double?):
            return .boolean(true)
        case ("isString", _), ("isBoolean", _), ("isNumber", _): return .boolean(false)
        case ("hasChild", _): return .boolean(try !tree[arguments[0].path()].isEmpty)
        default:
            guard case .list(let paths)? = arguments.first else {
                return .boolean(!tree.children.isEmpty)
            }
            let found = try paths.map { try !tree[$0.path()].isEmpty }
            return .boolean(!found.contains(false))
        }
    }

    private static func call(
        _ name: String, of text: String, _ arguments: [NaiveValue]
    ) throws -> NaiveValue {
        let parts = try arguments.map { argument in
            guard case .string(let part) = argument else { throw NaiveEnd.failure }
            return part
        }
        switch name {
        case "toLowerCase": return .string(text.lowercased())
        case "toUpperCase": return .string(text.uppercased())
        case "beginsWith": return .boolean(Array(text.utf8).starts(with: Array(parts[0].utf8)))
        case "endsWith":
            return .boolean(
                Array(text.utf8).reversed().starts(with: Array(parts[0].utf8).reversed()))
        case "contains": return .boolean(!text.offsets(of: parts[0]).isEmpty)
        default:
            guard !parts[0].isEmpty else { throw NaiveEnd.failure }
            var (bytes, rest): ([UInt8], [UInt8]) = ([], Array(text.utf8))
            let (old, new) = (Array(parts[0].utf8), Array(parts[1].utf8))
            while !rest.isEmpty {
                let isHere = rest.starts(with: old)
                bytes += isHere ? new : [rest[0]]
                rest.removeFirst(isHere ? old.count : 1)
            }
            return .string(String(decoding: bytes, as: UTF8.self))
        }
    }
}

extension String {
    fileprivate func isBelow(_ other: String) -> Bool {
        Array(utf16).lexicographicallyPrecedes(Array(other.utf16))
    }

    /// The offsets at which a text occurs.
    fileprivate func offsets(of part: String) -> [Int] {
        let (bytes, part) = (Array(utf8), Array(part.utf8))
        return (0...bytes.count).filter { bytes[$0...].starts(with: part) }
    }
}
