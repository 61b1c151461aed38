public import Foundation

extension FirestoreEncoder {
    /// How dates are encoded.
    public enum DateEncodingStrategy {
        /// As a timestamp.
        case timestamp
        /// As `Date` encodes itself: seconds since 2001.
        case deferredToDate
        /// As a number of seconds since 1970.
        case secondsSince1970
        /// As a number of milliseconds since 1970.
        case millisecondsSince1970
        /// As a string such as `2026-11-21T13:00:00Z`.
        case iso8601
        /// As a string that the formatter makes.
        case formatted(DateFormatter)
        /// As the closure encodes it.
        case custom((Date, any Encoder) throws -> Void)
    }

    /// How `Data` is encoded.
    public enum DataEncodingStrategy {
        /// As bytes.
        case blob
        /// As `Data` encodes itself: an array of numbers.
        case deferredToData
        /// As a string in Base64.
        case base64
        /// As the closure encodes it.
        case custom((Data, any Encoder) throws -> Void)
    }

    /// What happens to infinities and NaN.
    public enum NonConformingFloatEncodingStrategy {
        /// An error.
        case `throw`
        /// These strings.
        case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// How names of properties become names of fields.
    ///
    /// Keys of dictionaries are data and stay as they are.
    public enum KeyEncodingStrategy {
        /// As they are.
        case useDefaultKeys
        /// From `camelCase` to `snake_case`.
        case convertToSnakeCase
        /// As the closure says, which gets the keys from the root.
        case custom(([any CodingKey]) -> any CodingKey)
    }
}
