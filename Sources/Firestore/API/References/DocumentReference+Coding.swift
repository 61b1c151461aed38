extension DocumentReference {
    /// Makes the document consist of a value's properties.
    ///
    /// Returns at once; the handler is called as that of ``setData(_:completion:)``.
    ///
    /// - Throws: what the encoder reports; nothing is written then.
    public func setData<T: Encodable>(
        from value: T, encoder: Firestore.Encoder = Firestore.Encoder(),
        completion: (((any Error)?) -> Void)? = nil
    ) throws {
        enqueueSetData(try encoder.encode(value)).report(to: completion)
    }

    /// Sets a value's properties, and with `merge` leaves other fields as they are.
    ///
    /// Returns at once; the handler is called as that of ``setData(_:completion:)``.
    ///
    /// - Throws: what the encoder reports; nothing is written then.
    public func setData<T: Encodable>(
        from value: T, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder(),
        completion: (((any Error)?) -> Void)? = nil
    ) throws {
        enqueueSetData(try encoder.encode(value), merge: merge).report(to: completion)
    }

    /// Sets the named fields, each a `String` or ``FieldPath``, to what the value has for them.
    ///
    /// Returns at once; the handler is called as that of ``setData(_:completion:)``.
    ///
    /// - Throws: what the encoder reports; nothing is written then.
    public func setData<T: Encodable>(
        from value: T, mergeFields: [Any], encoder: Firestore.Encoder = Firestore.Encoder(),
        completion: (((any Error)?) -> Void)? = nil
    ) throws {
        enqueueSetData(try encoder.encode(value), mergeFields: mergeFields)
            .report(to: completion)
    }

    /// Makes the document consist of a value's properties, or with `merge` sets them and leaves the
    /// others, and tells how the write comes along.
    ///
    /// - Throws: what the encoder reports; nothing is written then.
    @discardableResult
    public func enqueueSetData<T: Encodable>(
        from value: T, merge: Bool = false, encoder: Firestore.Encoder = Firestore.Encoder()
    ) throws -> WriteHandle {
        enqueueSetData(try encoder.encode(value), merge: merge)
    }

    /// Reads the document as a value of a type.
    ///
    /// The handler is called on the callback queue, where the value is decoded, too.
    public func getDocument<T: Decodable>(
        as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
        decoder: Firestore.Decoder = Firestore.Decoder(), source: FirestoreSource = .default,
        completion: @escaping (Result<T, any Error>) -> Void
    ) {
        getDocument(source: source) { snapshot, error in
            completion(
                Result {
                    if let error { throw error }
                    guard let snapshot else { throw FirestoreErrorCode(.internal) }
                    return try snapshot.data(
                        as: type, with: serverTimestampBehavior, decoder: decoder)
                })
        }
    }

    /// Reads the document as a value of a type.
    ///
    /// - Throws: as ``getDocument(source:)`` and ``DocumentSnapshot/data(as:with:decoder:)``.
    public nonisolated(nonsending) func getDocument<T: Decodable>(
        as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
        decoder: Firestore.Decoder = Firestore.Decoder(), source: FirestoreSource = .default
    ) async throws -> T {
        try await getDocument(source: source)
            .data(as: type, with: serverTimestampBehavior, decoder: decoder)
    }
}
