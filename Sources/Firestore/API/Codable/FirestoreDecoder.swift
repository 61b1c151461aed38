public import Foundation
public import LarderModel

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
        return try options.decoded(type, fromOptional: value)
    }
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
    public typealias DataDecodingStrategy = CodingStrategies.DataDecoding

    /// The strings that represent infinities and NaN.
    public typealias NonConformingFloatDecodingStrategy = CodingStrategies.FloatDecoding

    /// The conversion of field names to property names.
    public typealias KeyDecodingStrategy = CodingStrategies.KeyDecoding
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
