package import LarderCore
package import LarderModel
package import LarderPlanning
package import LarderQuery
package import LarderRemote

/// Operations of a server in front of the backend beyond ``Remote``.
extension Backend {
    /// Passes the documents that match a query to a closure, in the query's order and as of one
    /// commit, until the closure returns stop.
    ///
    /// Runs on the calling thread for as long as the closure takes, without blocking commits. Holds
    /// no more documents in memory than a sort requires; ends early if their account is closed.
    ///
    /// - Parameters:
    ///   - query: the query.
    ///   - credentials: the credentials of the request.
    ///   - transaction: the transaction of the query, if any.
    ///   - moment: the read time; none for now.
    ///   - memory: is charged for the documents that are held.
    ///   - began: called with the version of the commit before the first document.
    ///   - body: called with each document.
    /// - Returns: the version of the commit.
    /// - Throws: errors of the closure; `invalidArgument` for an invalid query; `permissionDenied`;
    ///   `aborted` if something that the transaction read has changed; `cancelled` if the account
    ///   is closed.
    package func runQuery(
        _ query: Query, as credentials: Credentials, in transaction: TransactionID? = nil,
        asOf moment: SnapshotVersion = .none, memory: MemoryAccount? = nil,
        began: (SnapshotVersion) throws(LarderError) -> Void = { _ throws(LarderError) in },
        _ body: (Document) throws(LarderError) -> IterationStep
    ) throws(LarderError) -> SnapshotVersion {
        try core.run(
            query, as: credentials, in: transaction, asOf: moment, memory: memory, began: began,
            body)
    }

    /// Reads documents as of one commit, on the calling thread.
    ///
    /// - Returns: the readings in the order of the paths, and the version of the commit.
    package func documents(
        at paths: [DocumentPath], as credentials: Credentials,
        in transaction: TransactionID? = nil, asOf moment: SnapshotVersion = .none
    ) throws(LarderError) -> (readings: [DocumentReading], version: SnapshotVersion) {
        try core.documents(at: paths, as: credentials, in: transaction, asOf: moment)
    }

    /// Passes documents to a closure, in the order of the paths and as of one commit.
    ///
    /// Runs on the calling thread for as long as the closure takes, without blocking commits. Holds
    /// about 1 MiB of documents, or one document, in memory at a time.
    ///
    /// - Parameter began: called with the version of the commit before the first document.
    /// - Throws: errors of the closure; otherwise like ``documents(at:as:in:asOf:)``.
    package func forEachDocument(
        at paths: [DocumentPath], as credentials: Credentials,
        in transaction: TransactionID? = nil, asOf moment: SnapshotVersion = .none,
        began: (SnapshotVersion) throws(LarderError) -> Void,
        _ body: (DocumentReading) throws(LarderError) -> Void
    ) throws(LarderError) {
        try core.forEachDocument(
            at: paths, as: credentials, in: transaction, asOf: moment, began: began, body)
    }

    /// Computes aggregations over the documents that match a query, on the calling thread.
    ///
    /// - Parameter memory: is charged for the documents that are held.
    /// - Returns: the values in the order of the aggregates, their execution, and the version of the
    ///   commit.
    package func aggregates(
        _ aggregates: [Aggregate], over query: Query, offset: Int = 0,
        as credentials: Credentials,
        in transaction: TransactionID? = nil, asOf moment: SnapshotVersion = .none,
        memory: MemoryAccount? = nil
    ) throws(LarderError) -> (
        values: [Value], execution: QueryExecution?, version: SnapshotVersion
    ) {
        try core.aggregate(
            aggregates, over: query, offset: offset, as: credentials, in: transaction,
            asOf: moment, memory: memory)
    }

    /// Commits one change and completes with the resulting document; returns immediately.
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
                                return .failure(LarderError(.internal, "an empty commit"))
                            }
                            return .success(document)
                        })
                })
        }
    }

    /// Opens a watch stream on which a server can also reject targets itself.
    ///
    /// - Parameter flow: limits the bytes of responses that the client has not taken, in addition to
    ///   their number.
    package func serveWatchStream(
        as credentials: Credentials, _ flow: WatchFlow? = nil,
        _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> WatchConnection {
        let handle = StreamHandle(core)
        handle.perform { core, id in
            core.openWatchStream(id, as: credentials, flow) { [weak handle] in
                if handle?.isOpen == true { handler($0) }
            }
        }
        return WatchConnection(handle)
    }

    /// Begins a transaction with snapshot reads, whose commit fails with `aborted` if anything that
    /// it read has changed.
    ///
    /// Takes locks only on what it has announced with ``awaitTurn(of:toRead:_:)``. Reads must be
    /// sequential. It ends with its commit or rollback, or expires
    /// after 270 seconds in total or 60 seconds without a read.
    ///
    /// - Parameters:
    ///   - isReadOnly: true if it cannot write.
    ///   - asOf: the read time; none for that of the first read. If the last commit up to this time
    ///     is not retained, reads fail with `failedPrecondition`.
    ///   - former: the transaction that is attempted again, which makes this one as old in
    ///     deadlocks; nil for none.
    ///   - client: identifies the client, whose transactions are charged together; nil for none.
    /// - Throws: `unavailable` if the backend is closed.
    package func beginTransaction(
        readOnly isReadOnly: Bool = false, asOf: SnapshotVersion = .none,
        after former: TransactionID? = nil, for client: MemoryAccount? = nil
    ) throws(LarderError) -> TransactionID {
        try core.transactions.begin(
            isReadOnly: isReadOnly, asOf: asOf, after: former, for: client, at: core.clock())
    }

    /// Waits until a transaction may read, and locks what it reads.
    ///
    /// Commits of others then wait until the transaction has ended, or has let them wait for five
    /// seconds. Where transactions have conflicted lately, a transaction waits for the one before
    /// it. A transaction that is read-only or reads in the past does not wait.
    ///
    /// - Parameter completion: called exactly once, on any thread: with success at the
    ///   transaction's turn; with `aborted` if it is the youngest of a deadlock; with
    ///   `invalidArgument` if it is not open.
    /// - Returns: ends the wait without a call of the completion; nil if there is none.
    package func awaitTurn(
        of id: TransactionID, toRead targets: ReadTargets,
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) -> (@Sendable () -> Void)? {
        let keys = targets.lockKeys
        do throws(LarderError) {
            let locks = core.transactions.locks
            let wait = try core.transactions.awaitTurn(
                of: id, toRead: keys, at: core.clock()
            ) { completion($1) }
            guard let wait else {
                completion(.success(()))
                return nil
            }
            return { locks.end(wait) }
        } catch {
            completion(.failure(error))
            return nil
        }
    }

    /// Commits a transaction, possibly without changes.
    ///
    /// Returns immediately.
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
                        mutations: mutations, rulesCheck: core.rulesCheck(credentials),
                        reads: reads, transaction: transaction
                    ) { [locks = core.transactions.locks] result in
                        locks.release([transaction])
                        completion(result.map(\.response))
                    })
            } catch {
                completion(.failure(error))
            }
        }
    }

    /// Rolls a transaction back.
    ///
    /// - Throws: `invalidArgument` if it is not open; `unavailable` if the backend is closed.
    package func rollBack(_ transaction: TransactionID) throws(LarderError) {
        _ = try core.transactions.end(transaction, writes: false, at: core.clock())
    }
}

/// The documents and queries of a read in a transaction.
package struct ReadTargets: Sendable {
    let paths: [DocumentPath]
    let queries: [Query]

    package init(paths: [DocumentPath] = [], queries: [Query] = []) {
        self.paths = paths
        self.queries = queries
    }

    fileprivate var lockKeys: [LockKey] {
        Set(paths).map { .document($0) } + queries.map { LockKey($0) }
    }
}
