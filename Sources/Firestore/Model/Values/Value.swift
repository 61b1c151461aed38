public import Foundation

/// A Firestore value: the content of a field, an array element or a query bound.
///
/// `==` is Firestore's equality, by which `integer(1)` and `double(1)` differ; in Firestore's
/// order, ``compare(to:)``, they have the same place.
public enum Value: Sendable {
    /// The null value.
    case null
    /// False or true.
    case boolean(Bool)
    /// A 64-bit integer.
    case integer(Int64)
    /// A double, including NaN, infinities and -0.0.
    case double(Double)
    /// An instant.
    case timestamp(Timestamp)
    /// A server timestamp that the backend has not set yet; exists only locally.
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
    /// The maximum, which sorts after all other values; only in bounds, never in a document.
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

// MARK: - Equality and order

extension Value: Hashable {
    /// Firestore's equality: types must be the same, so that 1 and 1.0 differ; NaN equals NaN,
    /// 0.0 and -0.0 differ; the same inside arrays and maps.
    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null), (.max, .max): true
        case (.boolean(let l), .boolean(let r)): l == r
        case (.integer(let l), .integer(let r)): l == r
        case (.double(let l), .double(let r)): l.isFirestoreEqual(to: r)
        case (.timestamp(let l), .timestamp(let r)): l == r
        case (.serverTimestamp(let l), .serverTimestamp(let r)): l == r
        case (.string(let l), .string(let r)): l.hasSameUTF8(as: r)
        case (.bytes(let l), .bytes(let r)): l == r
        case (.reference(let l), .reference(let r)): l == r
        case (.geoPoint(let l), .geoPoint(let r)): l == r
        case (.array(let l), .array(let r)): l == r
        case (.vector(let l), .vector(let r)): l == r
        case (.map(let l), .map(let r)): l == r
        default: false
        }
    }

    /// Hashes consistently with `==`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        switch self {
        case .null, .max: break
        case .boolean(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value.firestoreBits)
        case .timestamp(let value): hasher.combine(value)
        case .serverTimestamp(let value): hasher.combine(value)
        case .string(let value): value.hashUTF8(into: &hasher)
        case .bytes(let value): hasher.combine(value)
        case .reference(let value): hasher.combine(value)
        case .geoPoint(let value): hasher.combine(value)
        case .array(let value): hasher.combine(value)
        case .vector(let value): hasher.combine(value)
        case .map(let value): hasher.combine(value)
        }
    }
}

extension Value {
    /// Firestore's total order of values, in which, unlike `==`, 1 and 1.0 are equivalent.
    ///
    /// Values of different types are ordered by ``ValueType``. Encodes both values: use
    /// ``EncodedValue/compare(to:)`` for repeated comparisons.
    ///
    /// - Throws: as ``EncodedValue/init(_:)``.
    public func compare(to other: Value) throws(LarderError) -> ComparisonResult {
        let builder = try RecordBuilder()
        return try builder.encode(self).compare(to: builder.encode(other))
    }
}

extension Double {
    /// The bits that determine equality: all NaNs are equal, 0.0 and -0.0 differ.
    package var firestoreBits: UInt64 {
        isNaN ? 0x7ff8_0000_0000_0000 : bitPattern
    }

    /// Firestore's equality of doubles.
    func isFirestoreEqual(to other: Double) -> Bool {
        firestoreBits == other.firestoreBits
    }
}

// MARK: - Conversions

// Not ExpressibleByNilLiteral: `lookUp() ?? nil` would silently turn a missing value into null.
extension Value: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// An integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A double.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An array.
    public init(arrayLiteral elements: Value...) { self = .array(elements) }
    /// A map; the last of equal names takes effect.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self = .map(MapValue(elements.lazy.map { (name: $0.0, value: $0.1) }))
    }
}

extension Value {
    /// A copy of bytes, such as a `Data`.
    public init(bytes: some ContiguousBytes) {
        self = .bytes(bytes.withUnsafeBytes { [UInt8]($0) })
    }

    /// The instant of a date, truncated to microseconds as in Firestore.
    ///
    /// - Throws: `invalidArgument` for a date outside the years 0001 to 9999.
    public init(date: Date) throws(LarderError) {
        self = .timestamp(try Timestamp(validating: date).truncatedToMicroseconds)
    }
}

extension Value: CustomStringConvertible {
    /// The value in a short form for logs and tests; not a format to parse.
    public var description: String {
        switch self {
        case .null: "null"
        case .boolean(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .double(let value): value.isNaN ? "nan" : value.description
        case .timestamp(let value): "time(\(value))"
        case .serverTimestamp(let value): "serverTimestamp(\(value.localWriteTime))"
        case .string(let value): "\"\(value)\""
        case .bytes(let value): "bytes(\(value.count))"
        case .reference(let value): "reference(\(value))"
        case .geoPoint(let value): "geo\(value)"
        case .array(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
        case .vector(let value): "vector(\(value))"
        case .map(let value): value.description
        case .max: "max"
        }
    }
}

extension MapValue: CustomStringConvertible {
    /// The entries in braces, in a short form for logs and tests.
    public var description: String {
        "{" + map { "\($0.name): \($0.value)" }.joined(separator: ", ") + "}"
    }
}
