public import Foundation
import LarderModel

/// A decoder of `Decodable` types from document data, also available as `Firestore.Decoder`.
///
/// `Timestamp`, `GeoPoint`, `VectorValue` and references are passed through unchanged. Use a
/// decoder on one thread at a time.
public final class FirestoreDecoder {
    /// The representation of dates; timestamps by default.
    public var dateDecodingStrategy = DateDecodingStrategy.timestamp

    /// The representation of `Data`; bytes or a Base64 string by default.
    public var dataDecodingStrategy = DataDecodingStrategy.blob

    /// The strings that represent infinities and NaN; none by default.
    public var nonConformingFloatDecodingStrategy = NonConformingFloatDecodingStrategy.throw

    /// The conversion of field names to property names; none by default.
    public var keyDecodingStrategy = KeyDecodingStrategy.useDefaultKeys

    /// The user info passed to `init(from:)`.
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    /// Creates a decoder with the default strategies.
    public init() {}

    /// Decodes a value from data of any shape, without a document, so that `@DocumentID` fails.
    ///
    /// - Parameters:
    ///   - type: the type to decode.
    ///   - data: the fields of a document, or the value of a field: an array, a map, a single
    ///     value. Nil is decoded as null.
    /// - Throws: Swift's `DecodingError` if the data does not match the type, and errors of the
    ///   value's `init(from:)`. These are Swift errors, as of other decoders; on Linux they cannot
    ///   be caught `as NSError`.
    public func decode<T: Decodable>(_ type: T.Type, from data: Any) throws -> T {
        try decode(type, fromValue: data, reference: nil)
    }

    /// Decodes a value from data of any shape; a document that does not exist is `NSNull`.
    func decode<T: Decodable>(
        _ type: T.Type, fromValue value: Any, reference: (any DocumentReferenceConvertible)?
    ) throws -> T {
        var userInfo = userInfo
        if let reference, let key = CodingUserInfoKey.documentReference {
            userInfo[key] = reference
        }
        let options = ValueDecoding.Options(
            FirestoreDecodingFormat(
                date: dateDecodingStrategy, data: dataDecodingStrategy,
                float: nonConformingFloatDecodingStrategy, key: keyDecodingStrategy,
                userInfo: userInfo))
        return try options.decoded(type, from: Self.unwrapped(value), at: .root)
    }
}

extension FirestoreDecoder {
    /// The value of an optional, as `data["name"]` gives one; null for nil.
    private static func unwrapped(_ value: Any) -> Any {
        guard let optional = value as? any OptionalValue else { return value }
        return optional.wrapped.map(unwrapped) ?? NSNull()
    }
}

/// An optional whose type is not known.
private protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var wrapped: Any? { self }
}

// MARK: - Strategies

extension FirestoreDecoder {
    /// The representation that dates are decoded from.
    public enum DateDecodingStrategy {
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
        /// A string parsed by a formatter.
        case formatted(DateFormatter)
        /// A custom closure.
        case custom((any Decoder) throws -> Date)
    }

    /// The representation that `Data` is decoded from.
    public enum DataDecodingStrategy {
        /// Bytes; a string is decoded as Base64.
        case blob
        /// The default encoding of `Data`: an array of numbers.
        case deferredToData
        /// A Base64 string; bytes are accepted, too.
        case base64
        /// A custom closure.
        case custom((any Decoder) throws -> Data)
    }

    /// The strings that represent infinities and NaN; stored infinities and NaN are always
    /// accepted.
    public enum NonConformingFloatDecodingStrategy {
        /// No strings.
        case `throw`
        /// Represents them as strings.
        case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// The conversion of field names to property names.
    ///
    /// Keys of dictionaries are data and are not converted.
    public enum KeyDecodingStrategy {
        /// No conversion.
        case useDefaultKeys
        /// From `snake_case` to `camelCase`.
        case convertFromSnakeCase
        /// A custom closure, called with the coding path from the root.
        case custom(([any CodingKey]) -> any CodingKey)
    }
}

// MARK: - Document

extension CodingUserInfoKey {
    /// The reference of the document being decoded.
    static let documentReference = CodingUserInfoKey(rawValue: "LarderDocumentReference")
}

// MARK: - Coding

extension Firestore {
    /// An encoder of `Encodable` types to data for `setData`.
    public typealias Encoder = FirestoreEncoder

    /// A decoder of `Decodable` types from document data.
    public typealias Decoder = FirestoreDecoder
}

extension FirestoreDecoder {
    /// Decodes a value from data of a document, whose reference is used by `@DocumentID`; without a
    /// document, types with `@DocumentID` cannot be decoded.
    ///
    /// - Throws: like ``decode(_:from:)``.
    public func decode<T: Decodable>(
        _ type: T.Type, from data: Any, in document: DocumentReference?
    ) throws -> T {
        try decode(type, fromValue: data, reference: document)
    }
}
