package import LarderModel
package import LarderQuery
package import LarderRemote

/// What a server that stands before the backend offers beyond ``Remote``.
extension Backend {
    /// Lends the documents that a query matches to a closure, in the query's order, as of one
    /// commit, until it answers stop.
    ///
    /// Runs on the calling thread and blocks it as long as the closure takes: commits wait for
    /// nobody. No more documents are held in memory than a sort needs.
    ///
    /// - Parameters:
    ///   - query: what to find.
    ///   - credentials: who asks.
    ///   - transaction: the transaction that the query belongs to, if any.
    ///   - moment: as of when; none for now.
    ///   - began: told the version of the commit that is read, before the first document.
    ///   - body: called with each document.
    /// - Returns: the version of the commit that was read.
    /// - Throws: what the closure throws; `invalidArgument` for a query that is not sound;
    ///   `permissionDenied`; `aborted` where something that the transaction read has changed.
    package func runQuery(
        _ query: Query, as credentials: Credentials, in transaction: TransactionID? = nil,
        asOf moment: SnapshotVersion = .none,
        began: (SnapshotVersion) throws(LarderError) -> Void = { _ throws(LarderError) in },
        _ body: (Document) throws(LarderError) -> IterationStep
    ) throws(LarderError) -> SnapshotVersion {
        try core.run(query, as: credentials, in: transaction, asOf: moment, began: began, body)
    }

    /// Reads documents, all as of one commit, on the calling thread.
    ///
    /// - Returns: a reading for each path, in order, and the version of the commit.
    package func documents(
        at paths: [DocumentPath], as credentials: Credentials,
        in transaction: TransactionID? = nil, asOf moment: SnapshotVersion = .none
    ) throws(LarderError) -> (readings: [DocumentReading], version: SnapshotVersion) {
        try core.documents(at: paths, as: credentials, in: transaction, asOf: moment)
    }

    /// Lends documents to a closure, in the order of their paths, all as of one commit.
    ///
    /// Runs on the calling thread and blocks it as long as the closure takes: commits wait for
    /// nobody. About 1 MiB of documents is held in memory at a time, or one document.
    ///
    /// - Parameter began: told the version of that commit before the first document.
    /// - Throws: what the closure throws; else as ``documents(at:as:in:asOf:)``.
    package func forEachDocument(
        at paths: [DocumentPath], as credentials: Credentials,
        in transaction: TransactionID? = nil, asOf moment: SnapshotVersion = .none,
        began: (SnapshotVersion) throws(LarderError) -> Void,
        _ body: (DocumentReading) throws(LarderError) -> Void
    ) throws(LarderError) {
        try core.forEachDocument(
            at: paths, as: credentials, in: transaction, asOf: moment, began: began, body)
    }

    /// Figures over what a query matches, in the order of the aggregates, and the version of the
    /// commit that they are of; on the calling thread.
    package func aggregates(
        _ aggregates: [Aggregate], over query: Query, as credentials: Credentials,
        in transaction: TransactionID? = nil, asOf moment: SnapshotVersion = .none
    ) throws(LarderError) -> (values: [Value], version: SnapshotVersion) {
        try core.aggregate(aggregates, over: query, as: credentials, in: transaction, asOf: moment)
    }

    /// Makes one change, and gives the document as that has left it; returns at once.
    package func write(
        _ mutation: Mutation, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<Document, LarderError>) -> Void
    ) {
        core.perform { core in
            core.commit(
                CommitRequest(mutations: [mutation], rulesCheck: core.rulesCheck(credentials)) {
                    result in
                    completion(
                        result.flatMap { commit in
                            guard let document = commit.documents.first else {
                                return .failure(LarderError(.internal, "a commit of nothing"))
                            }
                            return .success(document)
                        })
                })
        }
    }

    /// Opens a watch stream on which a server can also answer targets that it refuses itself.
    package func serveWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> WatchConnection {
        let handle = StreamHandle(core)
        handle.perform { core, id in
            core.openWatchStream(id, as: credentials) { [weak handle] in
                if handle?.isOpen == true { handler($0) }
            }
        }
        return WatchConnection(handle)
    }

    /// Opens a transaction: what is read in it is of one moment, and its commit is refused with
    /// `aborted` where any of that has changed since.
    ///
    /// It locks nothing. Its reads come one after the other. It ends with its commit or rollback,
    /// or by itself after 270 seconds, or 60 without a read.
    ///
    /// - Parameters:
    ///   - isReadOnly: whether it may not write.
    ///   - asOf: the moment that all is to be read of; none for one that the first read decides.
    ///     Where the last commit up to then is not kept reads end with `failedPrecondition`.
    /// - Throws: `unavailable` once the backend is closed.
    package func beginTransaction(
        readOnly isReadOnly: Bool = false, asOf: SnapshotVersion = .none
    ) throws(LarderError) -> TransactionID {
        try core.transactions.begin(isReadOnly: isReadOnly, asOf: asOf, at: core.clock())
    }

    /// Ends a transaction with changes, which may be none.
    ///
    /// Returns at once.
    package func commit(
        _ mutations: [Mutation], in transaction: TransactionID, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) {
        core.perform { core in
            do throws(LarderError) {
                let reads = try core.transactions.end(
                    transaction, writes: !mutations.isEmpty, at: core.clock())
                core.commit(
                    CommitRequest(
                        mutations: mutations, rulesCheck: core.rulesCheck(credentials), reads: reads
                    ) {
                        completion($0.map(\.response))
                    })
            } catch {
                completion(.failure(error))
            }
        }
    }

    /// Ends a transaction without changes.
    ///
    /// - Throws: `invalidArgument` for one that is not open; `unavailable` once the backend is
    ///   closed.
    package func rollBack(_ transaction: TransactionID) throws(LarderError) {
        _ = try core.transactions.end(transaction, writes: false, at: core.clock())
    }
}
