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
