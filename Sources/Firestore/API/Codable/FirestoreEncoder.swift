internal import LarderModel

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
