import LarderModel
import LarderPlanning
import LarderQuery
import LarderSync

extension Query {
    /// Reads what matches: from the server, or from the cache when that cannot be reached.
    public func getDocuments(completion: @escaping (QuerySnapshot?, (any Error)?) -> Void) {
        getDocuments(source: .default, completion: completion)
    }

    /// Reads what matches, from where the source says.
    ///
    /// From the cache it is read on the calling thread, unless earlier writes have to be waited
    /// for, and nothing that matches is an empty snapshot. `.server` fails with `unavailable` when
    /// the server cannot be reached.
    public func getDocuments(
        source: FirestoreSource, completion: @escaping (QuerySnapshot?, (any Error)?) -> Void
    ) {
        let done: Completion<QuerySnapshot> = firestore.callbackQueue.completion(completion)
        if source == .cache {
            firestore.read(place, done) { [self] client throws(LarderError) in try cached(client) }
        } else {
            getFromListener(source, done)
        }
    }

    /// Reads what matches: from the server, or from the cache when that cannot be reached.
    ///
    /// - Throws: `invalidArgument` for an invalid query; what the store reports and what the
    ///   backend answers, such as `permissionDenied`, or `failedPrecondition` for want of an index.
    public nonisolated(nonsending) func getDocuments() async throws -> QuerySnapshot {
        try await getDocuments(source: .default)
    }

    /// Reads what matches, from where the source says.
    ///
    /// From the cache it is read on the calling thread, and nothing that matches is an empty
    /// snapshot.
    ///
    /// - Throws: `invalidArgument` for an invalid query; `unavailable` when the server is asked
    ///   for and cannot be reached; what the store reports and what the backend answers, such as
    ///   `permissionDenied`, or `failedPrecondition` for want of an index.
    public nonisolated(nonsending) func getDocuments(
        source: FirestoreSource
    ) async throws -> QuerySnapshot {
        if source == .cache {
            return try await firestore.read(place) { client throws(LarderError) in
                try cached(client)
            }
        }
        return try await answer { getFromListener(source, $0) }
    }

    private func cached(_ client: Client) throws(LarderError) -> QuerySnapshot {
        let (documents, readTime) = try client.results(of: try executable.get())
        return QuerySnapshot(self, cached: documents, readTime: readTime)
    }

    private func getFromListener(
        _ source: FirestoreSource, _ done: @escaping Completion<QuerySnapshot>
    ) {
        firestore.firstSnapshot(of: executable) { [self] result in
            done(
                Result { () throws(LarderError) in
                    let view = try result.get()
                    if source == .server, view.isFromCache {
                        throw LarderError(
                            .unavailable,
                            "The server was asked for the documents, and the client is offline.")
                    }
                    return QuerySnapshot(self, view)
                })
        }
    }
}

// MARK: - Listening

extension Query {
    /// Calls a closure with the results, now and after each change of them.
    ///
    /// On the callback queue, in order, until the registration is removed. Offline the results
    /// are those of the cache. After an error the closure is not called again.
    @discardableResult
    public func addSnapshotListener(
        _ listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
    ) -> any ListenerRegistration {
        addSnapshotListener(options: SnapshotListenOptions(), listener: listener)
    }

    /// Calls a closure with the results, now and after each change of them or, where that is
    /// asked for, of their metadata.
    @discardableResult
    public func addSnapshotListener(
        includeMetadataChanges: Bool,
        listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
    ) -> any ListenerRegistration {
        addSnapshotListener(
            options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges),
            listener: listener)
    }

    /// Calls a closure with the results, now and after each change that the options ask for.
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

    /// The results, now and after each change of them.
    ///
    /// See ``SnapshotSequence`` for the buffering.
    public var snapshots: SnapshotSequence<QuerySnapshot> {
        snapshots(includeMetadataChanges: false)
    }

    /// The results, now and after each change of them or, where that is asked for, of their
    /// metadata.
    public func snapshots(
        includeMetadataChanges: Bool
    ) -> SnapshotSequence<QuerySnapshot> {
        snapshots(
            options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges))
    }

    /// The results, now and after each change that the options ask for.
    public func snapshots(
        options: SnapshotListenOptions
    ) -> SnapshotSequence<QuerySnapshot> {
        SnapshotSequence { [self] deliver in
            firestore.addListener(to: executable, options: options, deliver: deliver) {
                view throws(LarderError) in QuerySnapshot(self, view)
            }
        }
    }
}
