public import LarderModel

/// A condition on the stored document, which the backend checks when it commits a write.
///
/// If the condition does not hold there, the write is rejected: it is undone locally and becomes a
/// dead letter. Locally, a write whose condition does not hold in the cache has no effect until the
/// backend has decided.
public enum WriteCondition: Hashable, Sendable {
    /// The document exists; otherwise the write fails with `notFound`.
    case exists
    /// The document does not exist; otherwise the write fails with `alreadyExists`.
    case doesNotExist
    /// The document exists and was last changed at this time, a ``DocumentSnapshot/updateTime``;
    /// otherwise the write fails with `failedPrecondition`, or `notFound` for a document that does
    /// not exist.
    ///
    /// It fails as well if an earlier write of the same document is still pending, which changes the
    /// time when it is committed.
    case updated(at: Timestamp)

    var precondition: Precondition {
        switch self {
        case .exists: .exists(true)
        case .doesNotExist: .exists(false)
        case .updated(let time): .updateTime(SnapshotVersion(time))
        }
    }
}

// MARK: - Documents

extension DocumentReference {
    /// Creates the document, and fails if it exists.
    ///
    /// Suspends until the backend acknowledges the write, indefinitely while offline.
    ///
    /// - Throws: `alreadyExists` if the document exists at the backend; otherwise as the
    ///   asynchronous `setData(_:)`.
    public nonisolated(nonsending) func create(_ documentData: [String: Any]) async throws {
        try await enqueueCreate(documentData).acknowledged()
    }

    /// Creates the document unless it exists, and returns a handle to the write.
    ///
    /// Returns immediately. If the document exists at the backend, the handle reports
    /// `alreadyExists`.
    @discardableResult
    public func enqueueCreate(_ documentData: [String: Any]) -> WriteHandle {
        enqueueSetData(documentData, onlyIf: .doesNotExist)
    }

    /// Creates the document with the properties of a value unless it exists, and returns a handle
    /// to the write.
    ///
    /// - Throws: errors of the encoder; nothing is written then.
    @discardableResult
    public func enqueueCreate<T: Encodable>(
        from value: T, encoder: Firestore.Encoder = Firestore.Encoder()
    ) throws -> WriteHandle {
        enqueueCreate(try encoder.encode(value))
    }

    /// Sets these fields if a condition holds, replacing the document unless `merge` is true, and
    /// returns a handle to the write.
    ///
    /// Returns immediately.
    @discardableResult
    public func enqueueSetData(
        _ documentData: [String: Any], merge: Bool = false, onlyIf condition: WriteCondition
    ) -> WriteHandle {
        enqueue { (writes, path) throws(LarderError) in
            try writes.set(documentData, at: path, merge: merge, condition)
        }
    }

    /// Updates fields of the document if a condition holds, and returns a handle to the write; keys
    /// are dotted paths or ``FieldPath``s.
    ///
    /// Returns immediately.
    ///
    /// ```swift
    /// let city = try await db.document("cities/SF").getDocument()
    /// guard let time = city.updateTime else { return }
    /// city.reference.enqueueUpdateData(["population": 861_000], onlyIf: .updated(at: time))
    /// ```
    @discardableResult
    public func enqueueUpdateData(
        _ fields: [AnyHashable: Any], onlyIf condition: WriteCondition
    ) -> WriteHandle {
        enqueue { (writes, path) throws(LarderError) in
            try writes.update(fields, at: path, condition)
        }
    }

    /// Deletes the document if a condition holds, and returns a handle to the write.
    ///
    /// Returns immediately. With the condition ``WriteCondition/doesNotExist`` it has no effect.
    @discardableResult
    public func enqueueDelete(onlyIf condition: WriteCondition) -> WriteHandle {
        enqueue { (writes, path) in writes.delete(path, condition) }
    }
}

// MARK: - Batches

extension WriteBatch {
    /// Creates a document; if it exists, the whole batch fails with `alreadyExists`.
    @discardableResult
    public func create(
        _ data: [String: Any], forDocument document: DocumentReference
    ) -> WriteBatch {
        setData(data, forDocument: document, onlyIf: .doesNotExist)
    }

    /// Sets these fields of a document, replacing it unless `merge` is true; if the condition does
    /// not hold, the whole batch fails.
    @discardableResult
    public func setData(
        _ data: [String: Any], forDocument document: DocumentReference, merge: Bool = false,
        onlyIf condition: WriteCondition
    ) -> WriteBatch {
        adding(document) { (writes, path) throws(LarderError) in
            try writes.set(data, at: path, merge: merge, condition)
        }
    }

    /// Updates fields of a document; if the condition does not hold, the whole batch fails.
    @discardableResult
    public func updateData(
        _ fields: [AnyHashable: Any], forDocument document: DocumentReference,
        onlyIf condition: WriteCondition
    ) -> WriteBatch {
        adding(document) { (writes, path) throws(LarderError) in
            try writes.update(fields, at: path, condition)
        }
    }

    /// Deletes a document; if the condition does not hold, the whole batch fails.
    @discardableResult
    public func deleteDocument(
        _ document: DocumentReference, onlyIf condition: WriteCondition
    ) -> WriteBatch {
        adding(document) { (writes, path) in writes.delete(path, condition) }
    }
}
