package import LarderDocumentStore
package import LarderModel
package import LarderPlanning
package import LarderQuery

extension Client {
    /// Runs a closure after this client's earlier writes are committed or refused.
    ///
    /// Runs at once on the calling thread if none is under way, and otherwise on a thread of the
    /// client, so that callers read their own writes.
    ///
    /// - Parameter source: where the closure reads: only writes there are waited for; nil for all
    ///   writes.
    package func afterEarlierWrites(
        touching source: Query.Source? = nil, _ body: @escaping @Sendable () -> Void
    ) {
        if inbox.isSettled || !inbox.wait(for: { $0.touches(source) }, body) { body() }
    }

    /// Suspends until this client's earlier writes are committed or refused.
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

    /// A document with its pending writes; nil if unknown.
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

    /// The snapshot of a cached document; none if it is not cached.
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

    /// The documents that match a query, with pending writes.
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

    /// The documents that match a query, with pending writes, and the snapshot for which they are
    /// complete, none if there is none.
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

    /// The execution of a query, without running it.
    package func explain(_ query: Query) throws(LarderError) -> QueryExecution {
        try checkOpen()
        return try store.read { (transaction) throws(LarderError) in
            try engine.runner.explain(query, in: transaction)
        }
    }

    /// Aggregates over the documents that match a query, with pending writes.
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

    package func usage() throws(LarderError) -> StoreStatistics {
        try checkOpen()
        return try store.read { (transaction) throws(LarderError) in
            try transaction.statistics()
        }
    }
}
