import LarderModel

/// Several writes that are made together or not at all.
///
/// Data that Firestore does not take, a document of another database object or an unsound path is
/// reported by the commit, which then writes nothing. After `commit()` a batch takes no more
/// writes; Apple's SDK stops the program over that, here it is logged, and a second commit fails
/// with `failedPrecondition`.
public final class WriteBatch: Sendable {
    private let firestore: Firestore
    private let writes: WriteCollection

    init(_ firestore: Firestore) {
        self.firestore = firestore
        writes = WriteCollection(
            firestore, lateness: "A write batch cannot be used after it was committed.")
    }

    /// Makes a document consist of these fields.
    @discardableResult
    public func setData(
        _ data: [String: Any], forDocument document: DocumentReference
    ) -> WriteBatch {
        setData(data, forDocument: document, merge: false)
    }

    /// Sets these fields of a document, and with `merge` leaves the others as they are.
    @discardableResult
    public func setData(
        _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
    ) -> WriteBatch {
        writes.add(document) { (writes, path) throws(LarderError) in
            try writes.set(data, at: path, merge: merge)
        }
        return self
    }

    /// Sets the named fields of a document, each a `String` or ``FieldPath``, to what the data has
    /// for them.
    @discardableResult
    public func setData(
        _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
    ) -> WriteBatch {
        writes.add(document) { (writes, path) throws(LarderError) in
            try writes.set(data, at: path, mergeFields: mergeFields)
        }
        return self
    }

    /// Changes fields of a document that exists; keys are dotted paths or ``FieldPath``s.
    @discardableResult
    public func updateData(
        _ fields: [AnyHashable: Any], forDocument document: DocumentReference
    ) -> WriteBatch {
        writes.add(document) { (writes, path) throws(LarderError) in
            try writes.update(fields, at: path)
        }
        return self
    }

    /// Deletes a document; what lies below it stays.
    @discardableResult
    public func deleteDocument(_ document: DocumentReference) -> WriteBatch {
        writes.add(document) { (writes, path) in writes.delete(path) }
        return self
    }

    /// Makes the writes.
    ///
    /// Returns at once; they are seen by every later read and listener. When they are refused here,
    /// that is logged; those that the backend refuses are among ``Firestore/deadLetters()``. The
    /// forms with a completion handler report both.
    public func commit() {
        enqueueCommit().logRefusal()
    }

    /// Makes the writes.
    ///
    /// The handler is called once the backend has accepted them, which offline may be never, or
    /// with why they were refused.
    public func commit(completion: (((any Error)?) -> Void)?) {
        enqueueCommit().report(to: completion)
    }

    /// Makes the writes, and waits until the backend has accepted them; offline it waits.
    ///
    /// - Throws: why they were refused; `cancelled` when the task is cancelled, while the writes
    ///   go on.
    public nonisolated(nonsending) func commit() async throws {
        try await enqueueCommit().acknowledged()
    }

    /// Makes the writes, and tells how they come along.
    ///
    /// Returns at once.
    @discardableResult
    public func enqueueCommit() -> WriteHandle {
        let handle = WriteHandle(firestore)
        handle.start(writes.close())
        return handle
    }
}
