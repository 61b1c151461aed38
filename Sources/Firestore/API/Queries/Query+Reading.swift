import LarderModel
import LarderPlanning
import LarderQuery
import LarderSync

extension Query {
    /// Reads the results from the server, or from the cache if the server cannot be reached.
    public func getDocuments(completion: @escaping (QuerySnapshot?, (any Error)?) -> Void) {
        getDocuments(source: .default, completion: completion)
    }

    /// Reads the results from a source.
    ///
    /// Reads from the cache run on the calling thread, unless they have to wait for earlier writes;
    /// if nothing matches, the snapshot is empty. `.server` fails with `unavailable` if the server
    /// cannot be reached.
    public func getDocuments(
        source: FirestoreSource, completion: @escaping (QuerySnapshot?, (any Error)?) -> Void
    ) {
        let done: Completion<QuerySnapshot> = firestore.callbackQueue.completion(completion)
        if firestore.readsStore(source) {
            firestore.read(place, done) { [self] client throws(LarderError) in try cached(client) }
        } else {
            getFromServer(source, done)
        }
    }

    /// Reads the results from the server, or from the cache if the server cannot be reached.
    ///
    /// - Throws: `invalidArgument` for an invalid query; errors of the store and of the backend,
    ///   such as `permissionDenied`, or `failedPrecondition` for a missing index.
    @discardableResult
    public nonisolated(nonsending) func getDocuments() async throws -> QuerySnapshot {
        try await getDocuments(source: .default)
    }

    /// Reads the results from a source.
    ///
    /// Reads from the cache run on the calling thread; if nothing matches, the snapshot is empty.
    ///
    /// - Throws: `invalidArgument` for an invalid query; `unavailable` if the requested server
    ///   cannot be reached; errors of the store and of the backend, such as `permissionDenied`, or
    ///   `failedPrecondition` for a missing index.
    @discardableResult
    public nonisolated(nonsending) func getDocuments(
        source: FirestoreSource
    ) async throws -> QuerySnapshot {
        if firestore.readsStore(source) {
            return try await firestore.read(place) { client throws(LarderError) in
                try cached(client)
            }
        }
        return try await answer { getFromServer(source, $0) }
    }

    private func getFromServer(
        _ source: FirestoreSource, _ done: @escaping Completion<QuerySnapshot>
    ) {
        guard part.isWhole else { return getSelected(source, done) }
        firestore.firstSnapshot(of: executable) { [self] result in
            done(
                Result { () throws(LarderError) in
                    let view = try result.get()
                    if source == .server, view.isFromCache {
                        throw LarderError(
                            .unavailable,
                            "Failed to get documents from the server: the client is offline.")
                    }
                    return QuerySnapshot(self, view)
                })
        }
    }
}

// MARK: - Listening

extension Query {
    /// The results, now and after each change; the type of ``snapshots``.
    public typealias QuerySnapshotsSequence = SnapshotSequence<QuerySnapshot>
}

extension SnapshotSequence<QuerySnapshot> {
    /// The results of a query, now and after each change, if requested also of their metadata
    /// alone.
    public init(_ query: Query, includeMetadataChanges: Bool) {
        self = query.snapshots(includeMetadataChanges: includeMetadataChanges)
    }
}

extension Query {
    /// Listens to the results: calls a closure with the current results and after each change.
    ///
    /// Calls happen in order on the callback queue until the registration is removed. While
    /// offline, the results come from the cache. After an error the closure is not called again.
    @discardableResult
    public func addSnapshotListener(
        _ listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
    ) -> any ListenerRegistration {
        addSnapshotListener(options: SnapshotListenOptions(), listener: listener)
    }

    /// Listens to the results and, if requested, to changes of their metadata alone.
    @discardableResult
    public func addSnapshotListener(
        includeMetadataChanges: Bool,
        listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
    ) -> any ListenerRegistration {
        addSnapshotListener(
            options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges),
            listener: listener)
    }

    /// Listens to the results with options.
    @discardableResult
    public func addSnapshotListener(
        options: SnapshotListenOptions,
        listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
    ) -> any ListenerRegistration {
        let source = self
        return firestore.addListener(
            to: executable, options: options, listener: listener
        ) { view throws(LarderError) in QuerySnapshot(source, view) }
    }

    /// The results, now and after each change.
    ///
    /// See ``LarderRuntime/SnapshotSequence`` for the buffering.
    public var snapshots: SnapshotSequence<QuerySnapshot> {
        snapshots(includeMetadataChanges: false)
    }

    /// The results, now and after each change, if requested also of their metadata alone.
    public func snapshots(
        includeMetadataChanges: Bool
    ) -> SnapshotSequence<QuerySnapshot> {
        snapshots(
            options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges))
    }

    /// The results, now and after each change that the options select.
    public func snapshots(
        options: SnapshotListenOptions
    ) -> SnapshotSequence<QuerySnapshot> {
        firestore.snapshots(of: executable, options: options) { [self] view throws(LarderError) in
            QuerySnapshot(self, view)
        }
    }
}
