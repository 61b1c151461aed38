import LarderModel

extension BulkWriter {
    /// Creates a document; fails with `alreadyExists` if it exists.
    @discardableResult
    public func create(
        _ data: [String: Any], forDocument document: DocumentReference
    ) -> BulkWrite {
        setData(data, forDocument: document, onlyIf: .doesNotExist)
    }

    /// Sets these fields of a document, replacing it unless `merge` is true.
    @discardableResult
    public func setData(
        _ data: [String: Any], forDocument document: DocumentReference, merge: Bool = false
    ) -> BulkWrite {
        add(document) { (writes, path) throws(LarderError) in
            try writes.set(data, at: path, merge: merge)
        }
    }

    /// Sets the listed fields of a document, given as `String` or ``FieldPath``, to their values in
    /// the data.
    @discardableResult
    public func setData(
        _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
    ) -> BulkWrite {
        add(document) { (writes, path) throws(LarderError) in
            try writes.set(data, at: path, mergeFields: mergeFields)
        }
    }

    /// Sets these fields of a document if a condition holds, replacing it unless `merge` is true.
    @discardableResult
    public func setData(
        _ data: [String: Any], forDocument document: DocumentReference, merge: Bool = false,
        onlyIf condition: WriteCondition
    ) -> BulkWrite {
        add(document) { (writes, path) throws(LarderError) in
            try writes.set(data, at: path, merge: merge, condition)
        }
    }

    /// Sets the properties of a value, replacing the document unless `merge` is true.
    ///
    /// - Throws: errors of the encoder; nothing is written then.
    @discardableResult
    public func setData<T: Encodable>(
        from value: T, forDocument document: DocumentReference, merge: Bool = false,
        encoder: Firestore.Encoder = Firestore.Encoder()
    ) throws -> BulkWrite {
        setData(try encoder.encode(value), forDocument: document, merge: merge)
    }

    /// Updates fields of a document if a condition holds, by default that it exists; keys are
    /// dotted paths or ``FieldPath``s.
    @discardableResult
    public func updateData(
        _ fields: [AnyHashable: Any], forDocument document: DocumentReference,
        onlyIf condition: WriteCondition = .exists
    ) -> BulkWrite {
        add(document) { (writes, path) throws(LarderError) in
            try writes.update(fields, at: path, condition)
        }
    }

    /// Deletes a document, but not its subcollections, if a condition holds.
    @discardableResult
    public func deleteDocument(
        _ document: DocumentReference, onlyIf condition: WriteCondition? = nil
    ) -> BulkWrite {
        add(document) { (writes, path) in writes.delete(path, condition) }
    }
}
