public import Foundation

extension FirestoreDecoder {
    /// What dates are decoded from.
    public enum DateDecodingStrategy {
        /// A timestamp.
        case timestamp
        /// What `Date` encodes of itself: seconds since 2001.
        case deferredToDate
        /// A number of seconds since 1970.
        case secondsSince1970
        /// A number of milliseconds since 1970.
        case millisecondsSince1970
        /// A string such as `2026-11-21T13:00:00Z`.
        case iso8601
        /// A string that the formatter reads.
        case formatted(DateFormatter)
        /// What the closure decodes.
        case custom((any Decoder) throws -> Date)
    }

    /// What `Data` is decoded from.
    public enum DataDecodingStrategy {
        /// Bytes.
        case blob
        /// What `Data` encodes of itself: an array of numbers.
        case deferredToData
        /// A string in Base64.
        case base64
        /// What the closure decodes.
        case custom((any Decoder) throws -> Data)
    }

    /// What strings stand for infinities and NaN; stored infinities and NaN are always taken.
    public enum NonConformingFloatDecodingStrategy {
        /// None.
        case `throw`
        /// These strings.
        case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// How names of fields become names of properties.
    ///
    /// Keys of dictionaries are data and stay as they are.
    public enum KeyDecodingStrategy {
        /// As they are.
        case useDefaultKeys
        /// From `snake_case` to `camelCase`.
        case convertFromSnakeCase
        /// As the closure says, which gets the keys from the root.
        case custom(([any CodingKey]) -> any CodingKey)
    }
}
