import LarderModel

/// A set of writes that is committed atomically.
///
/// If the data is invalid, a document belongs to another `Firestore` object or a path is malformed,
/// the commit fails and writes nothing. A batch cannot be used after `commit()`: writes are logged
/// as errors, where Apple's SDK terminates the program, and a second commit fails with
/// `failedPrecondition`.
public final class WriteBatch: Sendable {
    private let firestore: Firestore
    private let writes: WriteCollection

    init(_ firestore: Firestore) {
        self.firestore = firestore
        writes = WriteCollection(
            firestore, lateness: "A write batch cannot be used after it was committed.")
    }

    /// Replaces a document with these fields.
    @discardableResult
    public func setData(
        _ data: [String: Any], forDocument document: DocumentReference
    ) -> WriteBatch {
        setData(data, forDocument: document, merge: false)
    }

    /// Sets these fields of a document; with `merge`, other fields are kept.
    @discardableResult
    public func setData(
        _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
    ) -> WriteBatch {
        adding(document) { (writes, path) throws(LarderError) in
            try writes.set(data, at: path, merge: merge)
        }
    }

    /// Sets the listed fields of a document, given as `String` or ``FieldPath``, to their values in
    /// the data.
    @discardableResult
    public func setData(
        _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
    ) -> WriteBatch {
        adding(document) { (writes, path) throws(LarderError) in
            try writes.set(data, at: path, mergeFields: mergeFields)
        }
    }

    /// Updates fields of an existing document; keys are dotted paths or ``FieldPath``s.
    @discardableResult
    public func updateData(
        _ fields: [AnyHashable: Any], forDocument document: DocumentReference
    ) -> WriteBatch {
        adding(document) { (writes, path) throws(LarderError) in
            try writes.update(fields, at: path)
        }
    }

    /// Deletes a document, but not its subcollections.
    @discardableResult
    public func deleteDocument(_ document: DocumentReference) -> WriteBatch {
        adding(document) { (writes, path) in writes.delete(path) }
    }

    /// Adds a change of a document, and returns the batch.
    func adding(
        _ document: DocumentReference,
        _ body: (inout Writes, DocumentPath) throws(LarderError) -> Void
    ) -> WriteBatch {
        writes.add(document, body)
        return self
    }

    /// Commits the writes.
    ///
    /// Returns immediately; the writes are visible to all later reads and listeners. Local failures
    /// are logged; writes that the backend rejects are among ``Firestore/deadLetters()``. The
    /// methods with a completion handler report both.
    public func commit() {
        enqueueCommit().logRefusal()
    }

    /// Commits the writes.
    ///
    /// The handler is called when the backend has accepted the writes, which may never happen while
    /// offline, or with the error of the rejection.
    public func commit(completion: (((any Error)?) -> Void)?) {
        enqueueCommit().report(to: completion)
    }

    /// Commits the writes and suspends until the backend acknowledges them, indefinitely while
    /// offline.
    ///
    /// - Throws: the error of the rejection; `cancelled` if the task is cancelled, in which case
    ///   the writes stay pending.
    public nonisolated(nonsending) func commit() async throws {
        try await enqueueCommit().acknowledged()
    }

    /// Commits the writes and returns a handle to their progress.
    ///
    /// Returns immediately.
    @discardableResult
    public func enqueueCommit() -> WriteHandle {
        let handle = WriteHandle(firestore)
        handle.start(writes.close())
        return handle
    }
}

// MARK: - Coding

extension WriteBatch {
    /// Replaces a document with the properties of a value.
    ///
    /// - Throws: errors of the encoder.
    @discardableResult
    public func setData<T: Encodable>(
        from value: T, forDocument document: DocumentReference,
        encoder: Firestore.Encoder = Firestore.Encoder()
    ) throws -> WriteBatch {
        setData(try encoder.encode(value), forDocument: document)
    }

    /// Sets the properties of a value in a document; with `merge`, other fields are kept.
    ///
    /// - Throws: errors of the encoder.
    @discardableResult
    public func setData<T: Encodable>(
        from value: T, forDocument document: DocumentReference, merge: Bool,
        encoder: Firestore.Encoder = Firestore.Encoder()
    ) throws -> WriteBatch {
        setData(try encoder.encode(value), forDocument: document, merge: merge)
    }

    /// Sets the listed fields of a document, given as `String` or ``FieldPath``, to their values in
    /// `value`.
    ///
    /// - Throws: errors of the encoder.
    @discardableResult
    public func setData<T: Encodable>(
        from value: T, forDocument document: DocumentReference, mergeFields: [Any],
        encoder: Firestore.Encoder = Firestore.Encoder()
    ) throws -> WriteBatch {
        setData(try encoder.encode(value), forDocument: document, mergeFields: mergeFields)
    }
}
