public import Foundation
import LarderModel

/// Decodes values of `Decodable` types from the data of documents: `Firestore.Decoder`.
///
/// `Timestamp`, `GeoPoint`, `VectorValue` and references are taken from the data as they are.
/// Use a decoder on one thread at a time.
public final class FirestoreDecoder {
    /// What dates are decoded from; timestamps unless set.
    public var dateDecodingStrategy = DateDecodingStrategy.timestamp

    /// What `Data` is decoded from; bytes unless set.
    public var dataDecodingStrategy = DataDecodingStrategy.blob

    /// What strings stand for infinities and NaN; none unless set.
    public var nonConformingFloatDecodingStrategy = NonConformingFloatDecodingStrategy.throw

    /// How names of fields become names of properties; as they are unless set.
    public var keyDecodingStrategy = KeyDecodingStrategy.useDefaultKeys

    /// What the decoder hands to the values' own `init(from:)`.
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    /// A decoder with the default strategies.
    public init() {}

    /// A value from fields that come from no document, so that `@DocumentID` fails.
    ///
    /// - Throws: Swift's `DecodingError` where the data does not fit the type, and whatever the
    ///   value's own `init(from:)` throws. These are Swift errors, as other decoders throw them,
    ///   so that their cases can be matched; on Linux they cannot be caught `as NSError`.
    public func decode<T: Decodable>(_ type: T.Type, from fields: [String: Any]) throws -> T {
        try decode(type, fromValue: fields, reference: nil)
    }

    /// A value from data of any shape; a document that does not exist is `NSNull`.
    func decode<T: Decodable>(
        _ type: T.Type, fromValue value: Any, reference: (any DocumentReferenceConvertible)?
    ) throws -> T {
        var userInfo = userInfo
        if let reference, let key = CodingUserInfoKey.documentReference {
            userInfo[key] = reference
        }
        let options = ValueDecoding.Options(
            date: dateDecodingStrategy, data: dataDecodingStrategy,
            float: nonConformingFloatDecodingStrategy, key: keyDecodingStrategy,
            userInfo: userInfo)
        return try options.decoded(type, from: value, at: .root)
    }
}

// MARK: - Strategies

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

/// Why a value of Firestore's own cannot be decoded; an `NSError`.
public final class FirestoreDecodingError: NSError, @unchecked Sendable {
    // Immutable after initialisation, apart from NSError's own user info, which is a value.

    /// A value that only `Firestore.Decoder` can give, with a document at hand.
    public static func decodingIsNotSupported(_ message: String) -> FirestoreDecodingError {
        FirestoreDecodingError(message)
    }

    /// A field with the name of a property that is filled from outside the data.
    ///
    /// Kept for source compatibility: such a field is ignored, and nothing throws this.
    public static func fieldNameConflict(_ message: String) -> FirestoreDecodingError {
        FirestoreDecodingError(message)
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

// MARK: - Document

extension CodingUserInfoKey {
    /// The reference of the document that is being decoded.
    static let documentReference = CodingUserInfoKey(rawValue: "LarderDocumentReference")
}

// MARK: - Coding

extension Firestore {
    /// Encodes values of `Encodable` types into data for `setData`.
    public typealias Encoder = FirestoreEncoder

    /// Decodes values of `Decodable` types from the data of documents.
    public typealias Decoder = FirestoreDecoder
}

extension FirestoreDecoder {
    /// A value from the fields of a document, whose reference `@DocumentID` takes; without one a
    /// type with `@DocumentID` cannot be decoded.
    ///
    /// - Throws: as ``decode(_:from:)``.
    public func decode<T: Decodable>(
        _ type: T.Type, from fields: [String: Any], in document: DocumentReference?
    ) throws -> T {
        try decode(type, fromValue: fields, reference: document)
    }
}
