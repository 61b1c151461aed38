import LarderModel

extension DocumentReference {
    /// Makes the document consist of these fields, or with `merge` sets them and leaves the others,
    /// and tells how the write comes along.
    ///
    /// Returns at once.
    @discardableResult
    public func enqueueSetData(
        _ documentData: [String: Any], merge: Bool = false
    ) -> WriteHandle {
        enqueue { (writes, path) throws(LarderError) in
            try writes.set(documentData, at: path, merge: merge)
        }
    }

    /// Sets the named fields, each a `String` or ``FieldPath``, to what the data has for them, and
    /// tells how the write comes along.
    ///
    /// Returns at once.
    @discardableResult
    public func enqueueSetData(
        _ documentData: [String: Any], mergeFields: [Any]
    ) -> WriteHandle {
        enqueue { (writes, path) throws(LarderError) in
            try writes.set(documentData, at: path, mergeFields: mergeFields)
        }
    }

    /// Changes fields of a document that exists, and tells how the write comes along; keys are
    /// dotted paths or ``FieldPath``s.
    ///
    /// Returns at once. Where the document is known not to exist the write is queued, too, and
    /// changes nothing here: the backend refuses it.
    @discardableResult
    public func enqueueUpdateData(_ fields: [AnyHashable: Any]) -> WriteHandle {
        enqueue { (writes, path) throws(LarderError) in
            try writes.update(fields, at: path)
        }
    }

    /// Deletes the document, and tells how the write comes along.
    ///
    /// Returns at once.
    @discardableResult
    public func enqueueDelete() -> WriteHandle {
        enqueue { (writes, path) in writes.delete(path) }
    }

    private func enqueue(
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
