import LarderModel
import LarderRuntime
import LarderSync

extension Firestore {
    /// Lists the collections at the root.
    ///
    /// See ``DocumentReference/listCollections(source:)``.
    ///
    /// - Parameter source: where to look.
    /// - Returns: the collections in the order of their IDs.
    /// - Throws: `unavailable` if the server cannot be reached; errors of the store and of the
    ///   backend, such as `permissionDenied`.
    public nonisolated(nonsending) func listCollections(
        source: FirestoreSource = .default
    ) async throws -> [CollectionReference] {
        try await collectionIDs(below: nil, source).map { collection($0) }
    }

    /// The IDs of the collections below a document, or at the root for nil.
    nonisolated(nonsending) fileprivate func collectionIDs(
        below parent: DocumentPath?, _ source: FirestoreSource
    ) async throws(LarderError) -> [String] {
        if readsCache(source) {
            return try await read { client throws(LarderError) in
                try client.collectionIDs(below: parent)
            }
        }
        return try await answer { done in
            withClient(done) { $0.listCollectionIDsAtServer(below: parent, completion: $1) }
        }
    }

    /// True if a list is read from the store: by request, or because the database has no backend.
    fileprivate func readsCache(_ source: FirestoreSource) -> Bool {
        source == .default && !connection.configuration.hasBackend || readsStore(source)
    }
}

extension DocumentReference {
    /// Lists the direct subcollections of the document, which need not exist.
    ///
    /// A collection exists if there is a document in it, or below it. By default the server is
    /// asked, and the list fails with `unavailable` if it cannot be reached: the cache contains
    /// only what was read before. `.cache` lists that, with pending writes, on the calling thread;
    /// so does `.default` for a database without a backend.
    ///
    /// - Parameter source: where to look.
    /// - Returns: the collections in the order of their IDs.
    /// - Throws: `invalidArgument` for a malformed path; `unavailable` if the server cannot be
    ///   reached; errors of the store and of the backend, such as `permissionDenied`.
    public nonisolated(nonsending) func listCollections(
        source: FirestoreSource = .default
    ) async throws -> [CollectionReference] {
        try await firestore.collectionIDs(below: try location.get(), source).map { collection($0) }
    }
}

extension CollectionReference {
    /// Lists the documents of the collection, including missing ones: those that do not exist, but
    /// have subcollections with documents.
    ///
    /// Reads only names. The source is treated as by
    /// ``DocumentReference/listCollections(source:)``.
    ///
    /// - Parameter source: where to look.
    /// - Returns: the documents in the order of their IDs.
    /// - Throws: as ``DocumentReference/listCollections(source:)``.
    public nonisolated(nonsending) func listDocuments(
        source: FirestoreSource = .default
    ) async throws -> [DocumentReference] {
        let path = try collection.get()
        let paths: [DocumentPath]
        if firestore.readsCache(source) {
            paths = try await firestore.read { client throws(LarderError) in
                try client.documents(in: path)
            }
        } else {
            paths = try await answer { done in
                firestore.withClient(done) { $0.listDocumentsAtServer(in: path, completion: $1) }
            }
        }
        return paths.map { DocumentReference(firestore, $0) }
    }
}
