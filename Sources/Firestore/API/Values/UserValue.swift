internal import Foundation
internal import LarderModel

/// What one of an application's values is: something to store as it is, something to walk
/// through, or a sentinel.
enum UserValue {
    case scalar(Value)
    case array([Any])
    case map([String: Any])
    case sentinel(FieldValue)

    /// Looks at a value by its dynamic type, the likely types first.
    ///
    /// The types are compared before anything is cast: a cast that fails costs more than all
    /// comparisons here, and on Linux bridging makes a native integer castable to `NSNumber` and
    /// a boxed 1 to `Bool`.
    ///
    /// - Parameter database: the database that references must be of; nil takes any.
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
