import LarderModel
import LarderQuery
public import LarderRuntime
import LarderSync

extension DocumentReference {
    /// Reads the document from the server, or from the cache if the server cannot be reached.
    ///
    /// If neither the server can be reached nor the document is cached, it fails with
    /// `unavailable`, after ``FirestoreConfiguration/serverWait-swift.property`` at the latest.
    public func getDocument(completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void) {
        getDocument(source: .default, completion: completion)
    }

    /// Reads the document from a source.
    ///
    /// Reads from the cache run on the calling thread, unless they have to wait for earlier writes,
    /// and fail with `unavailable` if the document is not cached. A document known not to exist
    /// yields a snapshot with `exists == false`.
    public func getDocument(
        source: FirestoreSource, completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void
    ) {
        let done: Completion<DocumentSnapshot> = firestore.callbackQueue.completion(completion)
        if firestore.readsStore(source) {
            firestore.read(place, done) { [self] client throws(LarderError) in try cached(client) }
        } else {
            getFromListener(source, done)
        }
    }

    /// Reads the document from the server, or from the cache if the server cannot be reached.
    ///
    /// See ``FirestoreConfiguration/serverWait-swift.property`` for the time that it waits for the
    /// server.
    ///
    /// - Throws: `unavailable` if neither the server can be reached nor the document is cached;
    ///   `invalidArgument` for an invalid path; errors of the store and of the backend, such as
    ///   `permissionDenied`.
    @discardableResult
    public nonisolated(nonsending) func getDocument() async throws -> DocumentSnapshot {
        try await getDocument(source: .default)
    }

    /// Reads the document from a source.
    ///
    /// Reads from the cache run on the calling thread. A document known not to exist yields a
    /// snapshot with `exists == false`.
    ///
    /// - Throws: `unavailable` if the requested server cannot be reached or the document is not
    ///   cached; `invalidArgument` for an invalid path; errors of the store and of the backend,
    ///   such as `permissionDenied`.
    @discardableResult
    public nonisolated(nonsending) func getDocument(
        source: FirestoreSource
    ) async throws -> DocumentSnapshot {
        if firestore.readsStore(source) {
            return try await firestore.read(place) { client throws(LarderError) in
                try cached(client)
            }
        }
        return try await answer { getFromListener(source, $0) }
    }

    private var place: Result<LarderQuery.Query.Source, LarderError> {
        location.map { .document($0) }
    }

    /// The cached document, which may be known not to exist; nil if it is not cached.
    private func known(_ client: Client) throws(LarderError) -> DocumentSnapshot? {
        let path = try location.get()
        guard let document = try client.document(at: path),
            document.state == .found || document.state == .absent
        else { return nil }
        // The document below pending writes has a read time, too.
        let readTime =
            document.hasLocalMutations ? try client.readTime(of: path) : document.readTime
        return DocumentSnapshot(
            firestore, path, document.exists ? document : nil,
            SnapshotState(
                hasPendingWrites: document.hasLocalMutations, isFromCache: !client.isLocal,
                readTime: readTime))
    }

    private func cached(_ client: Client) throws(LarderError) -> DocumentSnapshot {
        if let known = try known(client) { return known }
        // The store has all documents that are local only: this one does not exist.
        if client.isLocalOnly(try location.get()) {
            return DocumentSnapshot(
                firestore, try location.get(), nil,
                SnapshotState(hasPendingWrites: false, isFromCache: !client.isLocal))
        }
        throw LarderError(
            .unavailable,
            "The document '\(path)' is not in the cache. (The server was not asked.)")
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

    /// The result if the server cannot be reached.
    private func offline(
        _ snapshot: DocumentSnapshot, _ source: FirestoreSource
    ) throws(LarderError) -> DocumentSnapshot {
        guard source == .default else {
            throw LarderError(
                .unavailable,
                "Failed to get document '\(path)' from the server: the client is offline.")
        }
        if snapshot.exists { return snapshot }
        let client = try firestore.connection.client()
        if client.isLocalOnly(try location.get()) { return snapshot }
        // A document that is known not to exist is an answer, too.
        if let known = try known(client) { return known }
        throw LarderError(
            .unavailable, "Failed to get document because the client is offline.")
    }
}

// MARK: - Listening

extension DocumentReference {
    /// A document, now and after each change; the type of ``snapshots``.
    public typealias DocumentSnapshotsSequence = SnapshotSequence<DocumentSnapshot>
}

extension SnapshotSequence<DocumentSnapshot> {
    /// A document, now and after each change, if requested also of its metadata alone.
    public init(_ documentReference: DocumentReference, includeMetadataChanges: Bool) {
        self = documentReference.snapshots(includeMetadataChanges: includeMetadataChanges)
    }
}

extension DocumentReference {
    /// Listens to the document: calls a closure with the current document and after each change.
    ///
    /// Calls happen in order on the callback queue until the registration is removed. While
    /// offline, the document comes from the cache. After an error the closure is not called again.
    @discardableResult
    public func addSnapshotListener(
        _ listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
    ) -> any ListenerRegistration {
        addSnapshotListener(options: SnapshotListenOptions(), listener: listener)
    }

    /// Listens to the document and, if requested, to changes of its metadata alone.
    @discardableResult
    public func addSnapshotListener(
        includeMetadataChanges: Bool,
        listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
    ) -> any ListenerRegistration {
        addSnapshotListener(
            options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges),
            listener: listener)
    }

    /// Listens to the document with options.
    @discardableResult
    public func addSnapshotListener(
        options: SnapshotListenOptions,
        listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
    ) -> any ListenerRegistration {
        let source = self
        return firestore.addListener(
            to: query, options: options, listener: listener
        ) { view throws(LarderError) in try source.snapshot(view) }
    }

    /// The document, now and after each change.
    ///
    /// See ``LarderRuntime/SnapshotSequence`` for the buffering.
    public var snapshots: SnapshotSequence<DocumentSnapshot> {
        snapshots(includeMetadataChanges: false)
    }

    /// The document, now and after each change, if requested also of its metadata alone.
    public func snapshots(
        includeMetadataChanges: Bool
    ) -> SnapshotSequence<DocumentSnapshot> {
        snapshots(
            options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges))
    }

    /// The document, now and after each change that the options select.
    public func snapshots(
        options: SnapshotListenOptions
    ) -> SnapshotSequence<DocumentSnapshot> {
        firestore.snapshots(of: query, options: options) { [self] view throws(LarderError) in
            try self.snapshot(view)
        }
    }
}

extension DocumentReference {
    /// The document in the results of its query.
    func snapshot(_ view: ViewSnapshot) throws(LarderError) -> DocumentSnapshot {
        let path = try location.get()
        let document = view.documents.first
        // As in Firebase's SDKs, a deleted document has no pending writes.
        return DocumentSnapshot(
            firestore, path, document,
            SnapshotState(
                hasPendingWrites: document != nil && view.mutatedKeys.contains(path),
                isFromCache: view.isFromCache, readTime: view.readTime))
    }
}
