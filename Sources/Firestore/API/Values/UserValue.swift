import Foundation
import LarderModel

/// The classification of an application's value: a scalar, a container or a sentinel.
enum UserValue {
    case scalar(Value)
    case array([Any])
    case map([String: Any])
    case sentinel(FieldValue)

    /// Classifies a value by its dynamic type, common types first.
    ///
    /// Compares types before casting: a failing cast costs more than all comparisons here, and on
    /// Linux bridging makes a native integer castable to `NSNumber` and a boxed 1 to `Bool`.
    ///
    /// - Parameter database: the database that references must belong to; nil for any.
    init(_ value: Any, in database: DatabaseID?) throws(UserValueProblem) {
        if let known = Self.known(value, ObjectIdentifier(Swift.type(of: value))) {
            self = known
        } else {
            self = try Self.uncommon(value, in: database)
        }
    }

    private static func known(_ value: Any, _ type: ObjectIdentifier) -> UserValue? {
        if type == ObjectIdentifier(String.self) {
            return (value as? String).map { .scalar(.string($0)) }
        }
        if type == ObjectIdentifier(Int.self) {
            return (value as? Int).map { .scalar(.integer(Int64($0))) }
        }
        if type == ObjectIdentifier(Double.self) {
            return (value as? Double).map { .scalar(.double($0)) }
        }
        if type == ObjectIdentifier(Bool.self) {
            return (value as? Bool).map { .scalar(.boolean($0)) }
        }
        if type == ObjectIdentifier([String: Any].self) {
            return (value as? [String: Any]).map { .map($0) }
        }
        if type == ObjectIdentifier([Any].self) {
            return (value as? [Any]).map { .array($0) }
        }
        if type == ObjectIdentifier(Timestamp.self) {
            return (value as? Timestamp).map { .scalar(.timestamp($0.truncatedToMicroseconds)) }
        }
        if type == ObjectIdentifier(NSNumber.self) {
            return (value as? NSNumber).flatMap(Value.init(boxed:)).map { .scalar($0) }
        }
        if type == ObjectIdentifier(FieldValue.self) {
            return (value as? FieldValue).map { .sentinel($0) }
        }
        if type == ObjectIdentifier(Int64.self) {
            return (value as? Int64).map { .scalar(.integer($0)) }
        }
        if type == ObjectIdentifier(Data.self) {
            return (value as? Data).map { .scalar(Value(bytes: $0)) }
        }
        if type == ObjectIdentifier(NSNull.self) {
            return .scalar(.null)
        }
        if type == ObjectIdentifier(GeoPoint.self) {
            return (value as? GeoPoint).map { .scalar(.geoPoint($0)) }
        }
        if type == ObjectIdentifier(VectorValue.self) {
            return (value as? VectorValue).map { .scalar(.vector($0)) }
        }
        return nil
    }
}

// MARK: - Uncommon

extension UserValue {
    /// Classifies a value whose type is not among the common ones.
    static func uncommon(_ value: Any, in database: DatabaseID?) throws(UserValueProblem)
        -> UserValue
    {
        if let date = value as? Date { return .scalar(try timestamp(date)) }
        if let reference = value as? any DocumentReferenceConvertible {
            return .scalar(try name(of: reference, in: database))
        }
        if let optional = value as? any OptionalValue {
            // As Swift bridges nil to NSNull for Apple's SDK.
            guard let wrapped = optional.wrapped else { return .scalar(.null) }
            return try UserValue(wrapped, in: database)
        }
        if let number = try number(value) { return .scalar(number) }
        if let text = value as? String { return .scalar(.string(text)) }
        if let text = value as? Substring { return .scalar(.string(String(text))) }
        if let bytes = value as? Data { return .scalar(Value(bytes: bytes)) }
        if value is NSNull { return .scalar(.null) }
        if let boxed = boxed(value) { return boxed }
        if let fields = value as? [String: Any] { return .map(fields) }
        if let elements = value as? [Any] { return .array(elements) }
        throw UserValueProblem(
            value is [AnyHashable: Any]
                ? "a map has keys that are not strings"
                : "values of the type \(type(of: value)) cannot be stored")
    }

    /// A structure that was converted to `AnyObject`, whose dynamic type is then a box.
    private static func boxed(_ value: Any) -> UserValue? {
        guard type(of: value) is AnyClass else { return nil }
        if let time = value as? Timestamp {
            return .scalar(.timestamp(time.truncatedToMicroseconds))
        }
        if let point = value as? GeoPoint { return .scalar(.geoPoint(point)) }
        if let vector = value as? VectorValue { return .scalar(.vector(vector)) }
        return nil
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
            throw UserValueProblem("a reference does not name a document: \(name)")
        }
        return .reference(name)
    }

    /// A number of any width, boxed or not; nil for other types.
    private static func number(_ value: Any) throws(UserValueProblem) -> Value? {
        if type(of: value) is AnyClass, let number = value as? NSNumber {
            guard let boxed = Value(boxed: number) else { throw tooLarge(number) }
            return boxed
        }
        if let integer = value as? any BinaryInteger {
            guard let fitting = Int64(exactly: integer) else { throw tooLarge(integer) }
            return .integer(fitting)
        }
        if let number = value as? any BinaryFloatingPoint { return .double(Double(number)) }
        if let number = value as? Decimal {
            return .double(Double(nearest: number))
        }
        return nil
    }

    private static func tooLarge(_ number: Any) -> UserValueProblem {
        UserValueProblem("\(number) is beyond the range of integers, which have 64 bits")
    }
}

extension Value {
    /// A boxed number by its original type; nil for an integer above `Int64.max`.
    init?(boxed number: NSNumber) {
        switch BoxedNumber(number) {
        case .boolean(let flag): self = .boolean(flag)
        case .integer(let integer): self = .integer(integer)
        case .large: return nil
        case .double(let double): self = .double(double)
        }
    }
}

/// Any `Optional`, for unwrapping values of unknown types.
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

/// A type that represents a document reference in data.
protocol DocumentReferenceConvertible {
    var databaseID: DatabaseID { get }
    var resourceName: ResourceName { get }
}
