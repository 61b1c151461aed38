import LarderCore

/// A value while an expression is evaluated.
enum RuleValue: Sendable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    /// An object or array of the authentication.
    case object(JSONValue)
    /// A node with children, which no expression looks into as a value.
    case children

    init(_ json: JSONValue?) {
        switch json {
        case nil, .null?: self = .null
        case .boolean(let flag)?: self = .boolean(flag)
        case .integer(let integer)?: self = .number(Double(integer))
        case .double(let double)?: self = .number(double)
        case .string(let text)?: self = .string(text)
        case .array?, .object?: self = json.map { .object($0) } ?? .null
        }
    }
}

/// What is known about the value of an expression when it is compiled.
enum RuleType: String {
    case null
    case boolean
    case number
    case string
    /// One of the above, known when it is evaluated: the value of a node.
    case primitive
    /// Any value: a part of the authentication.
    case any

    /// True if the type can turn out to be another.
    var isOpen: Bool { self == .primitive || self == .any }

    /// True if values can be of a type.
    func canBe(_ type: RuleType) -> Bool { self == type || isOpen }

    /// The type of a value that has one of two types.
    func or(_ other: RuleType) -> RuleType {
        if self == other { return self }
        return self == .any || other == .any ? .any : .primitive
    }
}
