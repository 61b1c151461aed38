import LarderModel

extension DocumentReference {
    /// Replaces the document with these fields.
    ///
    /// Returns immediately; the write is visible to all later reads and listeners. Invalid data is
    /// logged; the methods with a completion handler report it.
    public func setData(_ documentData: [String: Any]) {
        enqueueSetData(documentData).logRefusal()
    }

    /// Replaces the document with these fields.
    ///
    /// The handler is called when the backend has accepted the write, which may never happen while
    /// offline, or with the error of the rejection.
    public func setData(_ documentData: [String: Any], completion: (((any Error)?) -> Void)?) {
        enqueueSetData(documentData).report(to: completion)
    }

    /// Replaces the document with these fields and suspends until the backend acknowledges the
    /// write, indefinitely while offline.
    ///
    /// - Throws: the error of the rejection; `cancelled` if the task is cancelled, in which case
    ///   the write stays pending.
    public nonisolated(nonsending) func setData(_ documentData: [String: Any]) async throws {
        try await enqueueSetData(documentData).acknowledged()
    }

    /// Sets these fields; with `merge`, other fields are kept.
    ///
    /// Returns immediately.
    public func setData(_ documentData: [String: Any], merge: Bool) {
        enqueueSetData(documentData, merge: merge).logRefusal()
    }

    /// Sets these fields; with `merge`, other fields are kept.
    ///
    /// The handler is called when the backend has accepted the write, which may never happen while
    /// offline, or with the error of the rejection.
    public func setData(
        _ documentData: [String: Any], merge: Bool, completion: (((any Error)?) -> Void)?
    ) {
        enqueueSetData(documentData, merge: merge).report(to: completion)
    }

    /// Sets these fields and suspends until the backend acknowledges the write; with `merge`, other
    /// fields are kept.
    ///
    /// - Throws: as the asynchronous `setData(_:)`.
    public nonisolated(nonsending) func setData(
        _ documentData: [String: Any], merge: Bool
    ) async throws {
        try await enqueueSetData(documentData, merge: merge).acknowledged()
    }

    /// Sets the listed fields, given as `String` or ``FieldPath``, to their values in the data.
    ///
    /// Returns immediately.
    public func setData(_ documentData: [String: Any], mergeFields: [Any]) {
        enqueueSetData(documentData, mergeFields: mergeFields).logRefusal()
    }

    /// Sets the listed fields, given as `String` or ``FieldPath``, to their values in the data.
    ///
    /// The handler is called when the backend has accepted the write, which may never happen while
    /// offline, or with the error of the rejection.
    public func setData(
        _ documentData: [String: Any], mergeFields: [Any], completion: (((any Error)?) -> Void)?
    ) {
        enqueueSetData(documentData, mergeFields: mergeFields).report(to: completion)
    }

    /// Sets the listed fields, given as `String` or ``FieldPath``, to their values in the data, and
    /// suspends until the backend acknowledges the write.
    ///
    /// - Throws: as the asynchronous `setData(_:)`.
    public nonisolated(nonsending) func setData(
        _ documentData: [String: Any], mergeFields: [Any]
    ) async throws {
        try await enqueueSetData(documentData, mergeFields: mergeFields).acknowledged()
    }

    /// Updates fields of an existing document; keys are dotted paths or ``FieldPath``s.
    ///
    /// Returns immediately.
    public func updateData(_ fields: [AnyHashable: Any]) {
        enqueueUpdateData(fields).logRefusal()
    }

    /// Updates fields of an existing document; keys are dotted paths or ``FieldPath``s.
    ///
    /// The handler is called when the backend has accepted the write, which may never happen while
    /// offline, or with the error of the rejection.
    public func updateData(_ fields: [AnyHashable: Any], completion: (((any Error)?) -> Void)?) {
        enqueueUpdateData(fields).report(to: completion)
    }

    /// Updates fields of an existing document and suspends until the backend acknowledges the
    /// write.
    ///
    /// - Throws: as the asynchronous `setData(_:)`.
    public nonisolated(nonsending) func updateData(_ fields: [AnyHashable: Any]) async throws {
        try await enqueueUpdateData(fields).acknowledged()
    }

    /// Deletes the document, but not its subcollections.
    ///
    /// Returns immediately.
    public func delete() {
        enqueueDelete().logRefusal()
    }

    /// Deletes the document, but not its subcollections.
    ///
    /// The handler is called when the backend has accepted the write, which may never happen while
    /// offline, or with the error of the rejection.
    public func delete(completion: (((any Error)?) -> Void)?) {
        enqueueDelete().report(to: completion)
    }

    /// Deletes the document and suspends until the backend acknowledges the write.
    ///
    /// - Throws: as the asynchronous `setData(_:)`.
    public nonisolated(nonsending) func delete() async throws {
        try await enqueueDelete().acknowledged()
    }
}

// MARK: - Enqueueing

extension DocumentReference {
    /// Sets these fields, replacing the document unless `merge` is true, and returns a handle to
    /// the write.
    ///
    /// Returns immediately.
    @discardableResult
    public func enqueueSetData(
        _ documentData: [String: Any], merge: Bool = false
    ) -> WriteHandle {
        enqueue { (writes, path) throws(LarderError) in
            try writes.set(documentData, at: path, merge: merge)
        }
    }

    /// Sets the listed fields, given as `String` or ``FieldPath``, to their values in the data, and
    /// returns a handle to the write.
    ///
    /// Returns immediately.
    @discardableResult
    public func enqueueSetData(
        _ documentData: [String: Any], mergeFields: [Any]
    ) -> WriteHandle {
        enqueue { (writes, path) throws(LarderError) in
            try writes.set(documentData, at: path, mergeFields: mergeFields)
        }
    }

    /// Updates fields of an existing document and returns a handle to the write; keys are dotted
    /// paths or ``FieldPath``s.
    ///
    /// Returns immediately. If the document is known not to exist, the write is queued
    /// nevertheless, without a local effect: the backend rejects it unless the document exists
    /// there.
    @discardableResult
    public func enqueueUpdateData(_ fields: [AnyHashable: Any]) -> WriteHandle {
        enqueue { (writes, path) throws(LarderError) in
            try writes.update(fields, at: path)
        }
    }

    /// Deletes the document and returns a handle to the write.
    ///
    /// Returns immediately.
    @discardableResult
    public func enqueueDelete() -> WriteHandle {
        enqueue { (writes, path) in writes.delete(path) }
    }

    /// Passes a change to the client, and returns a handle to the write.
    func enqueue(
        _ body: (inout Writes, DocumentPath) throws(LarderError) -> Void
    ) -> WriteHandle {
        let handle = WriteHandle(firestore)
        handle.start(
            Result { () throws(LarderError) in
                var writes = Writes(firestore)
                try body(&writes, try location.get())
                return writes.mutations
            })
        return handle
    }
}

// MARK: - Coding

extension DocumentReference {
    /// Replaces the document with the properties of a value.
    ///
    /// Returns immediately; the handler is called as in ``setData(_:completion:)``.
    ///
    /// - Throws: errors of the encoder; nothing is written then.
    public func setData<T: Encodable>(
        from value: T, encoder: Firestore.Encoder = Firestore.Encoder(),
        completion: (((any Error)?) -> Void)? = nil
    ) throws {
        enqueueSetData(try encoder.encode(value)).report(to: completion)
    }

    /// Sets the properties of a value; with `merge`, other fields are kept.
    ///
    /// Returns immediately; the handler is called as in ``setData(_:completion:)``.
    ///
    /// - Throws: errors of the encoder; nothing is written then.
    public func setData<T: Encodable>(
        from value: T, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder(),
        completion: (((any Error)?) -> Void)? = nil
    ) throws {
        enqueueSetData(try encoder.encode(value), merge: merge).report(to: completion)
    }

    /// Sets the listed fields, given as `String` or ``FieldPath``, to their values in `value`.
    ///
    /// Returns immediately; the handler is called as in ``setData(_:completion:)``.
    ///
    /// - Throws: errors of the encoder; nothing is written then.
    public func setData<T: Encodable>(
        from value: T, mergeFields: [Any], encoder: Firestore.Encoder = Firestore.Encoder(),
        completion: (((any Error)?) -> Void)? = nil
    ) throws {
        enqueueSetData(try encoder.encode(value), mergeFields: mergeFields)
            .report(to: completion)
    }

    /// Sets the properties of a value, replacing the document unless `merge` is true, and returns a
    /// handle to the write.
    ///
    /// - Throws: errors of the encoder; nothing is written then.
    @discardableResult
    public func enqueueSetData<T: Encodable>(
        from value: T, merge: Bool = false, encoder: Firestore.Encoder = Firestore.Encoder()
    ) throws -> WriteHandle {
        enqueueSetData(try encoder.encode(value), merge: merge)
    }

    /// Sets the listed fields, given as `String` or ``FieldPath``, to their values in `value`, and
    /// returns a handle to the write.
    ///
    /// - Throws: errors of the encoder; nothing is written then.
    @discardableResult
    public func enqueueSetData<T: Encodable>(
        from value: T, mergeFields: [Any], encoder: Firestore.Encoder = Firestore.Encoder()
    ) throws -> WriteHandle {
        enqueueSetData(try encoder.encode(value), mergeFields: mergeFields)
    }

    /// Reads the document and decodes it.
    ///
    /// Decodes the value and calls the handler on the callback queue.
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

    /// Reads the document and decodes it.
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
