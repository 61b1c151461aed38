public import Foundation
import LarderModel

/// Encodes values of `Encodable` types into data for `setData`: `Firestore.Encoder`.
///
/// `Timestamp`, `GeoPoint`, `VectorValue`, `FieldValue` and references stand in the data as they
/// are. Booleans and numbers become `NSNumber`, so that they cast to any number type. Use an
/// encoder on one thread at a time.
public final class FirestoreEncoder {
    /// How dates are encoded; as timestamps unless set.
    public var dateEncodingStrategy = DateEncodingStrategy.timestamp

    /// How `Data` is encoded; as bytes unless set.
    public var dataEncodingStrategy = DataEncodingStrategy.blob

    /// What happens to infinities and NaN; an error unless set.
    public var nonConformingFloatEncodingStrategy = NonConformingFloatEncodingStrategy.throw

    /// How names of properties become names of fields; as they are unless set.
    public var keyEncodingStrategy = KeyEncodingStrategy.useDefaultKeys

    /// What the encoder hands to the values' own `encode(to:)`.
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    /// An encoder with the default strategies.
    public init() {}

    /// The fields of a value.
    ///
    /// - Throws: Swift's `EncodingError` for a value that has no fields, is nested deeper than 100
    ///   levels or fails a strategy, and whatever the value's own `encode(to:)` throws. These are
    ///   Swift errors, as other encoders throw them, and cannot be caught `as NSError` on Linux.
    public func encode<T: Encodable>(_ value: T) throws -> [String: Any] {
        let options = ValueEncoding.Options(
            date: dateEncodingStrategy, data: dataEncodingStrategy,
            float: nonConformingFloatEncodingStrategy, key: keyEncodingStrategy,
            userInfo: userInfo)
        let encoded = try options.encoded(value, at: .root)
        guard let fields = encoded as? [String: Any] else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: [], debugDescription: "a \(T.self) has no fields to be a document"))
        }
        return fields
    }
}

// MARK: - Strategies

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

/// Why a value of Firestore's own cannot be encoded; an `NSError`.
public final class FirestoreEncodingError: NSError, @unchecked Sendable {
    // Immutable after initialisation, apart from NSError's own user info, which is a value.

    /// A value that only `Firestore.Encoder` can take, or a property that is never encoded.
    public static func encodingIsNotSupported(_ message: String) -> FirestoreEncodingError {
        FirestoreEncodingError(message)
    }

    private init(_ message: String) {
        super.init(
            domain: LarderError.firestoreDomain,
            code: LarderError.Code.invalidArgument.rawValue,
            userInfo: [NSLocalizedDescriptionKey: message])
    }

    /// Not supported: errors are not archived.
    public required init?(coder: NSCoder) {
        return nil
    }
}
