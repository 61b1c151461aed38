extension CollectionReference {
    /// Adds a document with a new id and a value's properties.
    ///
    /// Returns at once; the handler is called as that of ``addDocument(data:completion:)``.
    ///
    /// - Returns: the document's reference.
    /// - Throws: what the encoder reports; nothing is written then.
    @discardableResult
    public func addDocument<T: Encodable>(
        from value: T, encoder: Firestore.Encoder = Firestore.Encoder(),
        completion: (((any Error)?) -> Void)? = nil
    ) throws -> DocumentReference {
        addDocument(data: try encoder.encode(value), completion: completion)
    }
}
