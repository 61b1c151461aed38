import Foundation
import LarderCore
import LarderRealtimeModel

extension JSONValue {
    /// The deepest nesting of arrays and dictionaries in an application's value, as in Apple's
    /// client.
    private static let maxUserDepth = 1000

    /// An application's value: `nil`, `NSNull`, a boolean, a number of any width, a string, or an
    /// array or a dictionary with string keys of such values.
    ///
    /// - Throws: `invalidArgument` for other types, and for values nested too deep.
    init(userValue value: Any?) throws(LarderError) {
        self = try Self.parse(value ?? NSNull(), depth: 0)
    }

    /// Compares types before casting: a failing cast costs more than all comparisons here, and on
    /// Linux bridging makes a native integer castable to `NSNumber` and a boxed 1 to `Bool`.
    private static func parse(_ value: Any, depth: Int) throws(LarderError) -> JSONValue {
        let type = ObjectIdentifier(Swift.type(of: value))
        if type == ObjectIdentifier(String.self), let text = value as? String {
            return .string(text)
        }
        if type == ObjectIdentifier(Int.self), let integer = value as? Int {
            return .integer(Int64(integer))
        }
        if type == ObjectIdentifier(Double.self), let double = value as? Double {
            return .double(double)
        }
        if type == ObjectIdentifier(Bool.self), let flag = value as? Bool {
            return .boolean(flag)
        }
        if type == ObjectIdentifier(NSNull.self) { return .null }
        guard depth <= maxUserDepth else {
            throw .invalidArgument("the value is nested deeper than \(maxUserDepth) levels")
        }
        if type == ObjectIdentifier([String: Any].self), let members = value as? [String: Any] {
            return try object(members, depth)
        }
        if type == ObjectIdentifier([Any].self), let elements = value as? [Any] {
            return try array(elements, depth)
        }
        return try uncommon(value, depth)
    }

    private static func uncommon(_ value: Any, _ depth: Int) throws(LarderError) -> JSONValue {
        if let optional = value as? any OptionalUserValue {
            return try parse(optional.wrapped ?? NSNull(), depth: depth)
        }
        // Containers first: on Linux a failing cast converts all that they hold.
        if let members = value as? [String: Any] { return try object(members, depth) }
        if let elements = value as? [Any] { return try array(elements, depth) }
        if let members = value as? [AnyHashable: Any] { return try object(members, depth) }
        if let number = number(value) { return number }
        if let text = value as? String { return .string(text) }
        if let text = value as? Substring { return .string(String(text)) }
        throw .invalidArgument(
            "values of the type \(Swift.type(of: value)) cannot be stored; use numbers, booleans, "
                + "strings, arrays and dictionaries")
    }

    /// A number of any width, boxed or not; nil for other types.
    private static func number(_ value: Any) -> JSONValue? {
        if type(of: value) is AnyClass {
            return (value as? NSNumber).map { JSONValue(boxed: $0) }
        }
        if let integer = value as? any BinaryInteger {
            return Int64(exactly: integer).map { .integer($0) } ?? .double(Double(integer))
        }
        if let number = value as? any BinaryFloatingPoint { return .double(Double(number)) }
        if let number = value as? Decimal {
            return .double(Double(nearest: number))
        }
        return nil
    }

    private init(boxed number: NSNumber) {
        switch BoxedNumber(number) {
        case .boolean(let flag): self = .boolean(flag)
        case .integer(let integer): self = .integer(integer)
        case .large(let integer): self = .double(Double(integer))
        case .double(let double): self = .double(double)
        }
    }

    private static func array(_ elements: [Any], _ depth: Int) throws(LarderError) -> JSONValue {
        var values: [JSONValue] = []
        values.reserveCapacity(elements.count)
        for element in elements { values.append(try parse(element, depth: depth + 1)) }
        return .array(values)
    }

    private static func object(
        _ members: [String: Any], _ depth: Int
    ) throws(LarderError) -> JSONValue {
        var parsed: [JSONMember] = []
        parsed.reserveCapacity(members.count)
        for (name, value) in members {
            parsed.append(JSONMember(name, try parse(value, depth: depth + 1)))
        }
        return .object(parsed)
    }

    private static func object(
        _ members: [AnyHashable: Any], _ depth: Int
    ) throws(LarderError) -> JSONValue {
        var parsed: [JSONMember] = []
        parsed.reserveCapacity(members.count)
        for (key, value) in members {
            guard let name = key.base as? String else {
                throw .invalidArgument("a dictionary has the key \(key), which is not a string")
            }
            parsed.append(JSONMember(name, try parse(value, depth: depth + 1)))
        }
        return .object(parsed)
    }
}

/// Any `Optional`, whatever it wraps.
private protocol OptionalUserValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalUserValue {
    fileprivate var wrapped: Any? {
        switch self {
        case .none: nil
        case .some(let value): value
        }
    }
}

// MARK: - Errors

extension LarderError {
    /// An argument that is never allowed.
    static func invalidArgument(_ message: String) -> LarderError {
        LarderError(realtime: .invalidArgument, message, condition: .invalidArgument)
    }
}

// MARK: - Foundation

extension JSONValue {
    /// The value in Foundation's types, so that casts to any numeric type work as on Apple's
    /// systems: `NSNumber`, `String`, `[Any]`, `[String: Any]` and `NSNull`.
    var foundationValue: Any {
        switch self {
        case .null: return NSNull()
        case .boolean(let flag): return NSNumber(value: flag)
        case .integer(let integer): return NSNumber(value: integer)
        case .double(let double): return NSNumber(value: double)
        case .string(let text): return text
        case .array(let elements): return elements.map(\.foundationValue)
        case .object(let members):
            var dictionary: [String: Any] = Dictionary(minimumCapacity: members.count)
            for member in members { dictionary[member.name] = member.value.foundationValue }
            return dictionary
        }
    }
}
