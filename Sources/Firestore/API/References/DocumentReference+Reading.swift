import LarderModel
import LarderQuery
import LarderSync

extension DocumentReference {
    /// Reads the document: from the server, or from the cache when that cannot be reached.
    ///
    /// When the server cannot be reached it fails with `unavailable` for a document that the cache
    /// knows nothing of; see ``FirestoreConfiguration/serverWait-swift.property`` for how long that takes.
    public func getDocument(completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void) {
        getDocument(source: .default, completion: completion)
    }

    /// Reads the document from where the source says.
    ///
    /// From the cache it is read on the calling thread, unless earlier writes have to be waited
    /// for, and `unavailable` means that the cache knows nothing of it; a document that is known
    /// not to exist gives a snapshot that says so.
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
    /// See ``FirestoreConfiguration/serverWait-swift.property`` for how long it waits for the server.
    ///
    /// - Throws: `unavailable` when the server cannot be reached and the cache knows nothing of
    ///   the document; `invalidArgument` for an invalid path; what the store reports and what the
    ///   backend answers, such as `permissionDenied`.
    public nonisolated(nonsending) func getDocument() async throws -> DocumentSnapshot {
        try await getDocument(source: .default)
    }

    /// Reads the document from where the source says.
    ///
    /// From the cache it is read on the calling thread; a document that is known not to exist gives
    /// a snapshot that says so.
    ///
    /// - Throws: `unavailable` when the server is asked for and cannot be reached, or when the
    ///   cache knows nothing of the document; `invalidArgument` for an invalid path; what the store
    ///   reports and what the backend answers, such as `permissionDenied`.
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

    /// What the cache knows of the document, existing or not; nil for nothing.
    private func known(_ client: Client) throws(LarderError) -> DocumentSnapshot? {
        let path = try location.get()
        guard let document = try client.document(at: path),
            document.state == .found || document.state == .absent
        else { return nil }
        // What lies below pending writes was learnt at some time, too.
        let readTime =
            document.hasLocalMutations ? try client.readTime(of: path) : document.readTime
        return DocumentSnapshot(
            firestore, path, document.exists ? document : nil,
            SnapshotState(hasPendingWrites: document.hasLocalMutations, readTime: readTime))
    }

    private func cached(_ client: Client) throws(LarderError) -> DocumentSnapshot {
        if let known = try known(client) { return known }
        throw LarderError(
            .unavailable,
            "The cache knows nothing of the document '\(path)'. (The server was not asked.)")
    }

    private func getFromListener(
        _ source: FirestoreSource, _ done: @escaping Completion<DocumentSnapshot>
    ) {
        firestore.firstSnapshot(of: query) { [self] result in
            done(
                Result { () throws(LarderError) in
                    let snapshot = try snapshot(try result.get())
                    guard snapshot.metadata.isFromCache else { return snapshot }
                    return try offline(snapshot, source)
                })
        }
    }

    /// What to answer when the server could not be asked.
    private func offline(
        _ snapshot: DocumentSnapshot, _ source: FirestoreSource
    ) throws(LarderError) -> DocumentSnapshot {
        guard source == .default else {
            throw LarderError(
                .unavailable,
                "The server was asked for the document '\(path)', and the client is offline.")
        }
        if snapshot.exists { return snapshot }
        // A document that is known not to exist is an answer, too.
        if let known = try known(try firestore.connection.client()) { return known }
        throw LarderError(
            .unavailable, "Failed to get document because the client is offline.")
    }
}
