/// Firestore's coders take references as they are; others cannot.
extension DocumentReference: Codable {
    /// Fails: `Firestore.Decoder` alone gives references.
    ///
    /// - Throws: `FirestoreDecodingError.decodingIsNotSupported`.
    public convenience init(from decoder: any Decoder) throws {
        throw FirestoreDecodingError.decodingIsNotSupported(
            "a DocumentReference can be decoded with Firestore.Decoder only")
    }

    /// Fails: `Firestore.Encoder` alone takes references.
    ///
    /// - Throws: `FirestoreEncodingError.encodingIsNotSupported`.
    public func encode(to encoder: any Encoder) throws {
        throw FirestoreEncodingError.encodingIsNotSupported(
            "a DocumentReference can be encoded with Firestore.Encoder only")
    }
}
