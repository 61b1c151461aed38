internal import LarderModel

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
