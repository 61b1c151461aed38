/// A Firestore value: what a field, an element of an array or a bound of a query holds.
///
/// `==` is Firestore's equality, which tells `integer(1)` from `double(1)`; in the order,
/// ``compare(to:)``, they have the same place.
public enum Value: Sendable {
    /// The value that says there is none.
    case null
    /// False or true.
    case boolean(Bool)
    /// A 64-bit integer.
    case integer(Int64)
    /// A double, also NaN, an infinity or -0.0.
    case double(Double)
    /// An instant.
    case timestamp(Timestamp)
    /// A server timestamp that the backend has not set yet; exists locally only.
    case serverTimestamp(PendingServerTimestamp)
    /// Text.
    case string(String)
    /// Bytes.
    case bytes([UInt8])
    /// A document's full resource name.
    case reference(ResourceName)
    /// Latitude and longitude.
    case geoPoint(GeoPoint)
    /// A list of values.
    case array([Value])
    /// A vector of doubles.
    case vector(VectorValue)
    /// Values by name.
    case map(MapValue)
    /// What sorts after every other value; in bounds only, never in a document.
    case max

    /// The value's type.
    public var type: ValueType {
        switch self {
        case .null: .null
        case .boolean: .boolean
        case .integer: .integer
        case .double: .double
        case .timestamp: .timestamp
        case .serverTimestamp: .serverTimestamp
        case .string: .string
        case .bytes: .bytes
        case .reference: .reference
        case .geoPoint: .geoPoint
        case .array: .array
        case .vector: .vector
        case .map: .map
        case .max: .max
        }
    }
}
