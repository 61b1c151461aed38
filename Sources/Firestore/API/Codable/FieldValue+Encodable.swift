extension FieldValue: Encodable {
    /// Fails: `Firestore.Encoder` alone takes sentinels, as they are.
    ///
    /// - Throws: `FirestoreEncodingError.encodingIsNotSupported`.
    public func encode(to encoder: any Encoder) throws {
        throw FirestoreEncodingError.encodingIsNotSupported(
            "\(self) can be encoded with Firestore.Encoder only")
    }
}
