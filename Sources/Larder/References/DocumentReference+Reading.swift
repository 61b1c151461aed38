import LarderModel
import LarderQuery
import LarderSync

extension DocumentReference {
    /// Reads the document: from the server, or from the cache when that cannot be reached.
    ///
    /// Offline it fails with `unavailable` for a document that the cache does not have.
    public func getDocument(completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void) {
        getDocument(source: .default, completion: completion)
    }

    /// Reads the document from where the source says.
    ///
    /// From the cache it is read on the calling thread, and `unavailable` means that the cache knows
    /// nothing of it; a document that is known not to exist gives a snapshot that says so.
    public func getDocument(
        source: FirestoreSource, completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void
    ) {
        let done: Completion<DocumentSnapshot> = firestore.callbackQueue.completion(completion)
        if source == .cache {
            firestore.read(place, done) { [self] client throws(LarderError) in try cached(client) }
        } else {
            getFromListener(source, done)
        }
    }

    /// Reads the document: from the server, or from the cache when that cannot be reached.
    ///
    /// - Throws: `unavailable` offline, for a document that the cache does not have.
    public nonisolated(nonsending) func getDocument() async throws -> DocumentSnapshot {
        try await getDocument(source: .default)
    }

    /// Reads the document from where the source says.
    ///
    /// From the cache it is read on the calling thread; a document that is known not to exist gives
    /// a snapshot that says so.
    ///
    /// - Throws: `unavailable` when the server is asked for and cannot be reached, or when the
    ///   cache knows nothing of the document.
    public nonisolated(nonsending) func getDocument(
        source: FirestoreSource
    ) async throws -> DocumentSnapshot {
        if source == .cache {
            return try await firestore.read(place) { client throws(LarderError) in
                try cached(client)
            }
        }
        return try await answer { getFromListener(source, $0) }
    }

    private var place: Result<LarderQuery.Query.Source, LarderError> {
        location.map { .document($0) }
    }

    private func cached(_ client: Client) throws(LarderError) -> DocumentSnapshot {
        let path = try location.get()
        guard let document = try client.document(at: path),
            document.state == .found || document.state == .absent
        else {
            throw LarderError(
                .unavailable,
                "The cache knows nothing of the document '\(path)'. (The server was not asked.)")
        }
        return DocumentSnapshot(
            firestore, path, document.exists ? document : nil,
            hasPendingWrites: document.hasLocalMutations, isFromCache: true)
    }

    private func getFromListener(
        _ source: FirestoreSource, _ done: @escaping Completion<DocumentSnapshot>
    ) {
        firestore.firstSnapshot(of: query) { [self] result in
            done(
                Result { () throws(LarderError) in
                    let snapshot = try snapshot(try result.get())
                    if snapshot.metadata.isFromCache, source == .server || !snapshot.exists {
                        throw LarderError(
                            .unavailable,
                            "The document '\(path)' is not in the cache, and the client is offline."
                        )
                    }
                    return snapshot
                })
        }
    }
}
