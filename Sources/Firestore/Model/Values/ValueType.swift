/// The type of a ``Value``, in Firestore's type order, smaller first.
public enum ValueType: Int32, Hashable, Sendable, CaseIterable {
    /// No value.
    case null = 0
    /// False or true.
    case boolean = 1
    /// A 64-bit integer.
    case integer = 2
    /// A double; sorts with integers, by numeric value.
    case double = 3
    /// An instant.
    case timestamp = 4
    /// A server timestamp that the backend has not set yet.
    case serverTimestamp = 5
    /// Text.
    case string = 6
    /// Bytes.
    case bytes = 7
    /// The resource name of a document.
    case reference = 8
    /// Latitude and longitude.
    case geoPoint = 9
    /// A list of values.
    case array = 10
    /// A vector of doubles.
    case vector = 11
    /// Values by name.
    case map = 12
    /// The maximum, which sorts after all other values; only in bounds, never in a document.
    case max = 13

    /// The position in the type order; integers and doubles share one.
    public var rank: Int32 { Self.rank(ofCode: rawValue) }

    /// The position in the type order of a type code of the core.
    static func rank(ofCode code: Int32) -> Int32 {
        code < ValueType.double.rawValue ? code : code - 1
    }
}

extension ValueType: Comparable {
    /// True if every value of the left type sorts before every value of the right type.
    public static func < (left: ValueType, right: ValueType) -> Bool {
        left.rank < right.rank
    }
}
