package import LarderModel
package import LarderQuery
package import LarderRemote

/// Calls that the backend answers once, without the cache.
///
/// Each fails with `unavailable` without a backend or while the network is not used, and with
/// `cancelled` when the client is terminated before the answer. Reads and commits fail with
/// `unavailable`, caused by ``NoAnswer``, when the answer takes longer than
/// ``ClientConfiguration/answerTimeout``, or than a second where that is shorter. Queries, lists
/// and aggregations may take as long as the remote lets them: how long a backend works on them
/// depends on the data.
extension Client {
    /// Reads documents, all as of one moment, in the order of the paths.
    package func readAtServer(
        _ paths: [DocumentPath],
        completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void
    ) {
        guard mayCall(completion, { rules throws(LarderError) in try rules.checkRemote(paths) })
        else { return }
        call(completion, isTimed: true) { $0.read(paths, as: $1, $2) }
    }

    /// Makes changes together, or none of them; see ``LarderRemote/Remote/commit(_:as:_:)``.
    package func commitAtServer(
        _ mutations: [Mutation],
        completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) {
        guard
            mayCall(
                completion,
                { rules throws(LarderError) in try rules.checkRemote(mutations.map(\.path)) })
        else { return }
        call(completion, isTimed: true) { $0.commit(mutations, as: $1, $2) }
    }

    /// Aggregates over the backend's documents that match a query; a value for each, in order.
    package func aggregateAtServer(
        _ aggregates: [Aggregate], over query: Query,
        completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void
    ) {
        guard
            mayCall(
                completion, { rules throws(LarderError) in try rules.checkRemote(query.source) })
        else { return }
        call(completion, isTimed: false) {
            $0.aggregate(aggregates, over: query.target, as: $1, $2)
        }
    }

    /// Runs a query at the backend, with its offset and its projection, and without this client's
    /// pending writes; the cache is not changed.
    package func runAtServer(
        _ selection: QuerySelection,
        completion: @escaping @Sendable (Result<SelectedDocuments, LarderError>) -> Void
    ) {
        guard
            mayCall(
                completion,
                { rules throws(LarderError) in try rules.checkRemote(selection.query.source) })
        else { return }
        call(completion, isTimed: false) { $0.run(selection, as: $1, $2) }
    }

    /// Lists the IDs of the backend's collections below a document, or at the root for nil.
    package func listCollectionIDsAtServer(
        below parent: DocumentPath?,
        completion: @escaping @Sendable (Result<[String], LarderError>) -> Void
    ) {
        call(completion, isTimed: false) { $0.listCollectionIDs(below: parent, as: $1, $2) }
    }

    /// Lists the backend's documents in a collection, including missing ones that have descendants.
    package func listDocumentsAtServer(
        in collection: CollectionPath,
        completion: @escaping @Sendable (Result<[DocumentPath], LarderError>) -> Void
    ) {
        guard
            mayCall(
                completion,
                { rules throws(LarderError) in try rules.checkRemote(.collection(collection)) })
        else { return }
        call(completion, isTimed: false) { $0.listDocuments(in: collection, as: $1, $2) }
    }

    /// Lists the backend's documents of a part of the database; those of a local database itself.
    package func listAtServer(
        _ page: SubtreePage,
        completion: @escaping @Sendable (Result<[DocumentPath], LarderError>) -> Void
    ) {
        if isLocal {
            return afterEarlierWrites { [self] in
                engine.scheduler.read { [self] in
                    completion(Result { () throws(LarderError) in try list(page) })
                }
            }
        }
        call(completion, isTimed: false) { $0.list(page, as: $1, $2) }
    }

    /// Commits each mutation by itself; see ``LarderRemote/Remote/commitEach(_:as:_:)``.
    ///
    /// A local database commits them in its store.
    package func commitEachAtServer(
        _ mutations: [Mutation],
        completion: @escaping @Sendable (Result<[MutationOutcome], LarderError>) -> Void
    ) {
        if isLocal {
            return perform(
                { $0.commitEachLocally(mutations, Reply(completion)) },
                otherwise: { completion(.failure(Self.terminated)) })
        }
        guard
            mayCall(
                completion,
                { rules throws(LarderError) in try rules.checkRemote(mutations.map(\.path)) })
        else { return }
        call(completion, isTimed: true) { $0.commitEach(mutations, as: $1, $2) }
    }

    /// Calls a closure once the next attempt of a transaction is due.
    ///
    /// - Parameter backoff: how long the transaction has waited; the closure is given what to
    ///   hand in for the attempt after that.
    package func whenTransactionIsDue(
        _ backoff: Backoff, _ body: @escaping @Sendable (Result<Backoff, LarderError>) -> Void
    ) {
        perform(
            { $0.delayTransaction(backoff, Reply(body)) },
            otherwise: { body(.failure(Self.terminated)) })
    }

    /// Fails a call to the backend that concerns documents that are local only; true for others.
    private func mayCall<Value: Sendable>(
        _ completion: @Sendable (Result<Value, LarderError>) -> Void,
        _ check: (CacheRules) throws(LarderError) -> Void
    ) -> Bool {
        do throws(LarderError) {
            try check(engine.cacheRules)
            return true
        } catch {
            completion(.failure(error))
            return false
        }
    }

    private func call<Value: Sendable>(
        _ completion: @escaping @Sendable (Result<Value, LarderError>) -> Void, isTimed: Bool,
        _ body: @escaping @Sendable (any Remote, Credentials, @escaping Reply<Value>.Answer) -> Void
    ) {
        perform(
            { $0.call(Reply(completion), isTimed: isTimed, body) },
            otherwise: { completion(.failure(Self.terminated)) })
    }
}
