import LarderModel
import LarderRuntime
import Synchronization

/// An atomic set of writes based on the documents read.
///
/// Valid only inside the closure of ``Firestore/runTransaction(_:completion:)``, where all reads
/// must precede the first write. Misuse, for which Apple's SDK terminates the program, fails the
/// transaction with `invalidArgument`.
public final class Transaction: Sendable {
    private let firestore: Firestore
    private let backend: any TransactionBackend
    private let writes: WriteCollection
    private let reads = Mutex<[DocumentPath: TransactionRead]>([:])

    init(_ firestore: Firestore, _ backend: any TransactionBackend) {
        self.firestore = firestore
        self.backend = backend
        writes = WriteCollection(
            firestore, lateness: "A transaction cannot be used after its closure has ended.")
    }

    /// Reads a document from the server or, without a backend, from the local view including
    /// pending writes.
    ///
    /// Blocks until the response arrives. If the document changes before the transaction commits,
    /// the closure is run again.
    ///
    /// - Throws: `invalidArgument` after a write of the transaction or for a document of another
    ///   `Firestore` object; `unavailable` if the server cannot be reached; errors of the store.
    public func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot {
        do throws(LarderError) {
            return try read(document)
        } catch {
            writes.fail(error)
            throw error
        }
    }

    private func read(_ reference: DocumentReference) throws(LarderError) -> DocumentSnapshot {
        guard !writes.isClosed else {
            throw LarderError(
                .failedPrecondition, "A transaction cannot be used after its closure has ended.")
        }
        guard writes.isEmpty else {
            throw .invalidArgument(
                "Firestore transactions require all reads to be executed before all writes.")
        }
        let path = try writes.path(of: reference)
        let read: TransactionRead
        // Repeated reads return the first result, which is validated by the commit.
        if let known = reads.withLock({ $0[path] }) {
            read = known
        } else {
            let new = try backend.read(path)
            read = reads.withLock { reads in
                if let known = reads[path] { return known }
                reads[path] = new
                return new
            }
        }
        return DocumentSnapshot(firestore, path, read.existing, read.state)
    }

    /// Replaces a document with these fields.
    @discardableResult
    public func setData(
        _ data: [String: Any], forDocument document: DocumentReference
    ) -> Transaction {
        setData(data, forDocument: document, merge: false)
    }

    /// Sets these fields of a document; with `merge`, other fields are kept.
    @discardableResult
    public func setData(
        _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
    ) -> Transaction {
        writes.add(document) { (writes, path) throws(LarderError) in
            try writes.set(data, at: path, merge: merge)
        }
        return self
    }

    /// Sets the listed fields of a document, given as `String` or ``FieldPath``, to their values in
    /// the data.
    @discardableResult
    public func setData(
        _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
    ) -> Transaction {
        writes.add(document) { (writes, path) throws(LarderError) in
            try writes.set(data, at: path, mergeFields: mergeFields)
        }
        return self
    }

    /// Updates fields of an existing document; keys are dotted paths or ``FieldPath``s.
    ///
    /// If the transaction has read the document and it does not exist, the transaction fails with
    /// `invalidArgument`.
    @discardableResult
    public func updateData(
        _ fields: [AnyHashable: Any], forDocument document: DocumentReference
    ) -> Transaction {
        writes.add(document) { (writes, path) throws(LarderError) in
            // Not one that the transaction itself has made.
            if let known = reads.withLock({ $0[path] }), known.existing == nil,
                !writes.mutations.contains(where: { $0.path == path })
            {
                throw .invalidArgument(
                    "The document '\(path)' cannot be updated: it does not exist.")
            }
            try writes.update(fields, at: path)
        }
        return self
    }

    /// Deletes a document, but not its subcollections.
    @discardableResult
    public func deleteDocument(_ document: DocumentReference) -> Transaction {
        writes.add(document) { (writes, path) in writes.delete(path) }
        return self
    }

    /// Closes the transaction for the closure and commits.
    func commit(_ done: @escaping Completion<Void>) {
        switch writes.close() {
        case .success(let mutations):
            backend.commit(mutations, on: reads.withLock { $0 }, done)
        case .failure(let error): done(.failure(error))
        }
    }

    /// Closes the transaction without writing anything.
    func discard() {
        _ = writes.close()
    }
}

// MARK: - Coding

extension Transaction {
    /// Replaces a document with the properties of a value.
    ///
    /// - Throws: errors of the encoder.
    @discardableResult
    public func setData<T: Encodable>(
        from value: T, forDocument document: DocumentReference,
        encoder: Firestore.Encoder = Firestore.Encoder()
    ) throws -> Transaction {
        setData(try encoder.encode(value), forDocument: document)
    }

    /// Sets the properties of a value in a document; with `merge`, other fields are kept.
    ///
    /// - Throws: errors of the encoder.
    @discardableResult
    public func setData<T: Encodable>(
        from value: T, forDocument document: DocumentReference, merge: Bool,
        encoder: Firestore.Encoder = Firestore.Encoder()
    ) throws -> Transaction {
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
    ) throws -> Transaction {
        setData(try encoder.encode(value), forDocument: document, mergeFields: mergeFields)
    }
}
