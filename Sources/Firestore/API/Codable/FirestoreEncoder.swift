public import Foundation
public import LarderModel

/// An encoder of `Encodable` types to data for `setData`, also available as `Firestore.Encoder`.
///
/// `Timestamp`, `GeoPoint`, `VectorValue`, `FieldValue` and references are passed through
/// unchanged. Booleans and numbers become `NSNumber`, which casts to any number type. Use an
/// encoder on one thread at a time.
public final class FirestoreEncoder {
    /// The representation of dates; timestamps by default.
    public var dateEncodingStrategy = DateEncodingStrategy.timestamp

    /// The representation of `Data`; bytes by default.
    public var dataEncodingStrategy = DataEncodingStrategy.blob

    /// The treatment of infinities and NaN; an error by default.
    public var nonConformingFloatEncodingStrategy = NonConformingFloatEncodingStrategy.throw

    /// The conversion of property names to field names; none by default.
    public var keyEncodingStrategy = KeyEncodingStrategy.useDefaultKeys

    /// The user info passed to `encode(to:)`.
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    /// Creates an encoder with the default strategies.
    public init() {}

    /// Encodes a value as fields of a document.
    ///
    /// - Throws: Swift's `EncodingError` for a value that is not encoded as a map, is nested deeper
    ///   than 100 levels or violates a strategy, and errors of the value's `encode(to:)`. These are
    ///   Swift errors, as of other encoders; on Linux they cannot be caught `as NSError`.
    public func encode<T: Encodable>(_ value: T) throws -> [String: Any] {
        let options = ValueEncoding.Options(
            FirestoreEncodingFormat(
                date: dateEncodingStrategy, data: dataEncodingStrategy,
                float: nonConformingFloatEncodingStrategy, key: keyEncodingStrategy,
                userInfo: userInfo))
        let encoded = try options.encoded(value, at: .root)
        guard let fields = encoded as? [String: Any] else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: [], debugDescription: "\(T.self) is not encoded as a map of fields")
            )
        }
        return fields
    }
}

// MARK: - Strategies

extension FirestoreEncoder {
    /// The representation of encoded dates.
    public enum DateEncodingStrategy {
        /// A timestamp.
        case timestamp
        /// The default encoding of `Date`: seconds since 2001.
        case deferredToDate
        /// A number of seconds since 1970.
        case secondsSince1970
        /// A number of milliseconds since 1970.
        case millisecondsSince1970
        /// A string such as `2026-11-21T13:00:00Z`.
        case iso8601
        /// A string created by a formatter.
        case formatted(DateFormatter)
        /// A custom closure.
        case custom((Date, any Encoder) throws -> Void)
    }

    /// The representation of encoded `Data`.
    public typealias DataEncodingStrategy = CodingStrategies.DataEncoding

    /// The treatment of infinities and NaN.
    public typealias NonConformingFloatEncodingStrategy = CodingStrategies.FloatEncoding

    /// The conversion of property names to field names.
    public typealias KeyEncodingStrategy = CodingStrategies.KeyEncoding
}
