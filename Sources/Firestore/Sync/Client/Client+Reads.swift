package import LarderDocumentStore
package import LarderModel
package import LarderPlanning
package import LarderQuery

extension Client {
    /// Runs a closure once the writes that this client was asked for are committed or refused.
    ///
    /// With none under way it runs at once, on the calling thread, and otherwise on a thread of
    /// the client: what a caller wrote it reads.
    ///
    /// - Parameter source: where the closure will read: writes elsewhere are not waited for; nil
    ///   for all that there is.
    package func afterEarlierWrites(
        touching source: Query.Source? = nil, _ body: @escaping @Sendable () -> Void
    ) {
        if inbox.isSettled || !inbox.wait(for: { $0.touches(source) }, body) { body() }
    }

    /// Suspends until the writes that this client was asked for are committed or refused.
    ///
    /// Does not suspend when none is under way.
    ///
    /// - Parameter source: as for ``afterEarlierWrites(touching:_:)``.
    package nonisolated(nonsending) func earlierWritesCommitted(
        touching source: Query.Source? = nil
    ) async {
        if inbox.isSettled { return }
        await withCheckedContinuation { continuation in
            if !inbox.wait(for: { $0.touches(source) }, { continuation.resume() }) {
                continuation.resume()
            }
        }
    }

    /// What is known of a document, pending writes in it; nil for nothing.
    ///
    /// Runs on the calling thread, on the newest commit.
    package func document(at path: DocumentPath) throws(LarderError) -> Document? {
        try checkOpen()
        let user = engine.session.user
        let document = try store.read { (transaction) throws(LarderError) in
            try transaction.document(at: path, asSeenBy: user)
        }
        // Where nothing is evicted, no use need be remembered.
        if document != nil, mayEvict { try store.touch(path) }
        return document
    }

    /// The snapshot of the backend in which what is cached of a document was learnt; none for
    /// none.
    ///
    /// Runs on the calling thread, on the newest commit.
    package func readTime(of path: DocumentPath) throws(LarderError) -> SnapshotVersion {
        try checkOpen()
        return try store.read { (transaction) throws(LarderError) in
            var readTime = SnapshotVersion.none
            _ = try transaction.withDocument(at: path) { readTime = $0.readTime }
            return readTime
        }
    }

    /// The documents that match a query, pending writes in them.
    ///
    /// Runs on the calling thread, on the newest commit.
    package func run(_ query: Query) throws(LarderError) -> QueryResult {
        try checkOpen()
        let result = try store.read { (transaction) throws(LarderError) in
            try engine.runner.run(query, in: transaction)
        }
        engine.noteRun(of: query, result.execution)
        return result
    }

    /// The documents that match a query, pending writes in them, with the snapshot of the backend
    /// of which they are known to be complete, none for none.
    ///
    /// Runs on the calling thread, on the newest commit.
    package func results(of query: Query)
        throws(LarderError) -> (documents: [Document], readTime: SnapshotVersion)
    {
        try checkOpen()
        let target = try engine.remote.map { (_) throws(LarderError) in
            try EncodedTarget(query.target)
        }
        let (result, readTime) = try store.read { (transaction) throws(LarderError) in
            let stored = try target.flatMap { (target) throws(LarderError) in
                try transaction.find(target)
            }
            return (
                try engine.runner.run(query, in: transaction), stored?.snapshotVersion ?? .none
            )
        }
        engine.noteRun(of: query, result.execution)
        return (result.documents, readTime)
    }

    /// How a query would be answered, without answering it.
    package func explain(_ query: Query) throws(LarderError) -> QueryExecution {
        try checkOpen()
        return try store.read { (transaction) throws(LarderError) in
            try engine.runner.explain(query, in: transaction)
        }
    }

    /// Aggregates over the documents that match a query, pending writes in them.
    ///
    /// Runs on the calling thread, on the newest commit.
    package func aggregate(_ aggregates: [Aggregate], over query: Query)
        throws(LarderError) -> AggregateResult
    {
        try checkOpen()
        return try store.read { (transaction) throws(LarderError) in
            try engine.runner.aggregate(aggregates, over: query, in: transaction)
        }
    }

    /// What the store holds and occupies.
    package func usage() throws(LarderError) -> StoreStatistics {
        try checkOpen()
        return try store.read { (transaction) throws(LarderError) in
            try transaction.statistics()
        }
    }
}
