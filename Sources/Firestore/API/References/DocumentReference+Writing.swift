extension DocumentReference {
    /// Makes the document consist of these fields.
    ///
    /// Returns at once; the write is seen by every later read and listener. Data that Firestore
    /// does not take is logged; the forms with a completion handler report it.
    public func setData(_ documentData: [String: Any]) {
        enqueueSetData(documentData).logRefusal()
    }

    /// Makes the document consist of these fields.
    ///
    /// The handler is called once the backend has accepted the write, which offline may be
    /// never, or with why it was refused.
    public func setData(_ documentData: [String: Any], completion: (((any Error)?) -> Void)?) {
        enqueueSetData(documentData).report(to: completion)
    }

    /// Makes the document consist of these fields, and waits until the backend has accepted
    /// the write; offline it waits.
    ///
    /// - Throws: why the write was refused; `cancelled` when the task is cancelled, while the
    ///   write goes on.
    public nonisolated(nonsending) func setData(_ documentData: [String: Any]) async throws {
        try await enqueueSetData(documentData).acknowledged()
    }

    /// Sets these fields, and with `merge` leaves the others as they are.
    ///
    /// Returns at once.
    public func setData(_ documentData: [String: Any], merge: Bool) {
        enqueueSetData(documentData, merge: merge).logRefusal()
    }

    /// Sets these fields, and with `merge` leaves the others as they are.
    ///
    /// The handler is called once the backend has accepted the write, which offline may be
    /// never, or with why it was refused.
    public func setData(
        _ documentData: [String: Any], merge: Bool, completion: (((any Error)?) -> Void)?
    ) {
        enqueueSetData(documentData, merge: merge).report(to: completion)
    }

    /// Sets these fields, and with `merge` leaves the others as they are; waits until the backend
    /// has accepted the write.
    ///
    /// - Throws: as the asynchronous `setData(_:)`.
    public nonisolated(nonsending) func setData(
        _ documentData: [String: Any], merge: Bool
    ) async throws {
        try await enqueueSetData(documentData, merge: merge).acknowledged()
    }

    /// Sets the named fields, each a `String` or ``FieldPath``, to what the data has for them.
    ///
    /// Returns at once.
    public func setData(_ documentData: [String: Any], mergeFields: [Any]) {
        enqueueSetData(documentData, mergeFields: mergeFields).logRefusal()
    }

    /// Sets the named fields, each a `String` or ``FieldPath``, to what the data has for them.
    ///
    /// The handler is called once the backend has accepted the write, which offline may be
    /// never, or with why it was refused.
    public func setData(
        _ documentData: [String: Any], mergeFields: [Any], completion: (((any Error)?) -> Void)?
    ) {
        enqueueSetData(documentData, mergeFields: mergeFields).report(to: completion)
    }

    /// Sets the named fields, each a `String` or ``FieldPath``, to what the data has for them;
    /// waits until the backend has accepted the write.
    ///
    /// - Throws: as the asynchronous `setData(_:)`.
    public nonisolated(nonsending) func setData(
        _ documentData: [String: Any], mergeFields: [Any]
    ) async throws {
        try await enqueueSetData(documentData, mergeFields: mergeFields).acknowledged()
    }

    /// Changes fields of a document that exists; keys are dotted paths or ``FieldPath``s.
    ///
    /// Returns at once.
    public func updateData(_ fields: [AnyHashable: Any]) {
        enqueueUpdateData(fields).logRefusal()
    }

    /// Changes fields of a document that exists; keys are dotted paths or ``FieldPath``s.
    ///
    /// The handler is called once the backend has accepted the write, which offline may be
    /// never, or with why it was refused.
    public func updateData(_ fields: [AnyHashable: Any], completion: (((any Error)?) -> Void)?) {
        enqueueUpdateData(fields).report(to: completion)
    }

    /// Changes fields of a document that exists; waits until the backend has accepted the
    /// write.
    ///
    /// - Throws: as the asynchronous `setData(_:)`.
    public nonisolated(nonsending) func updateData(_ fields: [AnyHashable: Any]) async throws {
        try await enqueueUpdateData(fields).acknowledged()
    }

    /// Deletes the document; what lies below it stays.
    ///
    /// Returns at once.
    public func delete() {
        enqueueDelete().logRefusal()
    }

    /// Deletes the document; what lies below it stays.
    ///
    /// The handler is called once the backend has accepted the write, which offline may be
    /// never, or with why it was refused.
    public func delete(completion: (((any Error)?) -> Void)?) {
        enqueueDelete().report(to: completion)
    }

    /// Deletes the document; waits until the backend has accepted the write.
    ///
    /// - Throws: as the asynchronous `setData(_:)`.
    public nonisolated(nonsending) func delete() async throws {
        try await enqueueDelete().acknowledged()
    }
}
