internal import Foundation
internal import LarderModel

extension UserValue {
    /// Looks at a value of a type that is not among the common ones.
    static func uncommon(_ value: Any, in database: DatabaseID?) throws(UserValueProblem)
        -> UserValue
    {
        if let date = value as? Date { return .scalar(try timestamp(date)) }
        if let reference = value as? any DocumentReferenceConvertible {
            return .scalar(try name(of: reference, in: database))
        }
        if let optional = value as? any OptionalValue {
            guard let wrapped = optional.wrapped else {
                throw UserValueProblem("nil is no value; NSNull() stands for null")
            }
            return try UserValue(wrapped, in: database)
        }
        if let number = try number(value) { return .scalar(number) }
        if let text = value as? String { return .scalar(.string(text)) }
        if let text = value as? Substring { return .scalar(.string(String(text))) }
        if let bytes = value as? Data { return .scalar(Value(bytes: bytes)) }
        if value is NSNull { return .scalar(.null) }
        if let fields = value as? [String: Any] { return .map(fields) }
        if let elements = value as? [Any] { return .array(elements) }
        throw UserValueProblem(
            value is [AnyHashable: Any]
                ? "a map has keys that are not strings"
                : "values of the type \(type(of: value)) cannot be stored")
    }

    private static func timestamp(_ date: Date) throws(UserValueProblem) -> Value {
        do throws(LarderError) {
            return try Value(date: date)
        } catch {
            throw UserValueProblem(error, at: "")
        }
    }

    private static func name(
        of reference: any DocumentReferenceConvertible, in database: DatabaseID?
    ) throws(UserValueProblem) -> Value {
        if let database, reference.databaseID != database {
            throw UserValueProblem(
                "a reference to a document of \(reference.databaseID) cannot be used with "
                    + "\(database)")
        }
        let name = reference.resourceName
        guard name.document != nil else {
            throw UserValueProblem("a reference has the path of no document: \(name)")
        }
        return .reference(name)
    }

    /// A number of any width, boxed or not; nil for what is no number.
    private static func number(_ value: Any) throws(UserValueProblem) -> Value? {
        if type(of: value) is AnyClass {
            guard let number = value as? NSNumber else { return nil }
            guard let boxed = Value(boxed: number) else { throw tooLarge(number) }
            return boxed
        }
        if let integer = value as? any BinaryInteger {
            guard let fitting = Int64(exactly: integer) else { throw tooLarge(integer) }
            return .integer(fitting)
        }
        if let number = value as? any BinaryFloatingPoint { return .double(Double(number)) }
        if let number = value as? Decimal {
            return .double(NSDecimalNumber(decimal: number).doubleValue)
        }
        return nil
    }

    private static func tooLarge(_ number: Any) -> UserValueProblem {
        UserValueProblem("\(number) is beyond the range of integers, which have 64 bits")
    }
}

extension Value {
    /// A boxed number by the type that it was made of; nil for an integer above `Int64.max`.
    ///
    /// Foundation boxes booleans as `c` and no number as that; Apple's boxes `Int8` so, too, and
    /// has `B` for nothing but booleans.
    init?(boxed number: NSNumber) {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "c"), UInt8(ascii: "B"):
            self = .boolean(number.boolValue)
        case UInt8(ascii: "d"), UInt8(ascii: "f"):
            self = .double(number.doubleValue)
        case UInt8(ascii: "Q"), UInt8(ascii: "L"):
            guard let integer = Int64(exactly: number.uint64Value) else { return nil }
            self = .integer(integer)
        default:
            self = .integer(number.int64Value)
        }
    }
}

/// Any `Optional`, whatever it wraps.
private protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var wrapped: Any? {
        switch self {
        case .none: nil
        case .some(let value): value
        }
    }
}
