import LarderModel

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
