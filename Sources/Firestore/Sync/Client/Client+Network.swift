package import LarderDocumentStore
package import LarderModel
package import LarderQuery
package import LarderRemote

extension Client {
    /// Uses the network from now on; without a remote there is nothing to use it for.
    package func enableNetwork(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.setNetwork(enabled: true, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Uses the network no longer: listeners hear from the cache, writes stay pending.
    package func disableNetwork(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.setNetwork(enabled: false, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Speaks to the backend anew and at once, instead of when the next attempt is due.
    package func reconnect() {
        perform { $0.remoteStore.restart() }
    }

    /// Whether the backend can be reached, as far as the client knows.
    package var networkState: NetworkState { engine.networkState }

    /// Calls a closure with whether the backend can be reached, now and after each change.
    package func observeNetworkState(
        _ deliver: @escaping @Sendable (NetworkState) -> Void
    ) -> ClientRegistration {
        let id = engine.newID()
        perform {
            $0.observers.network.add(id, deliver)
            deliver($0.networkState)
        }
        return ClientRegistration { [weak self] in
            self?.perform { $0.observers.network.remove(id) }
        }
    }

    /// Whose writes are made and seen.
    package var user: UserID { engine.session.user }

    /// Makes and sees the writes of a user from now on, and speaks to the backend as that user.
    ///
    /// Writes of the user before stay pending until that user comes back. The same user again
    /// means new credentials.
    package func setUser(
        _ user: UserID,
        completion: @escaping @Sendable (Result<Void, LarderError>) -> Void = { _ in }
    ) {
        perform(
            { $0.setUser(user, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    // MARK: Sharing

    /// Says whether somebody looks at the client, who then is preferred as primary.
    ///
    /// Does nothing for a client that does not share its store.
    package func setForeground(_ isForeground: Bool) {
        perform { engine in
            engine.multiClient?.isForeground = isForeground
            engine.renewLease()
        }
    }

    /// Makes the client the primary, whoever is it now: another loses the network when it next
    /// looks.
    ///
    /// Nothing changes for a client that does not share its store.
    package func takeLease(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { engine in
                engine.renewLease(isForced: true)
                completion(.success(()))
            }, otherwise: { completion(.failure(Self.terminated)) })
    }
}

/// Calls that the backend answers once, without the cache.
///
/// Each fails with `unavailable` without a backend or while the network is not used, and with
/// `cancelled` when the client is terminated before the answer. Reads and commits fail with
/// `unavailable`, caused by ``NoAnswer``, when the answer takes longer than
/// ``ClientConfiguration/answerTimeout``, or than a second where that is shorter. An aggregation
/// may take as long as its remote lets it: how long a backend works on it depends on the data.
extension Client {
    /// Reads documents, all as of one moment, in the order of the paths.
    package func readAtServer(
        _ paths: [DocumentPath],
        completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void
    ) {
        call(completion, isTimed: true) { $0.read(paths, as: $1, $2) }
    }

    /// Makes changes together, or none of them; see ``LarderRemote/Remote/commit(_:as:_:)``.
    package func commitAtServer(
        _ mutations: [Mutation],
        completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) {
        call(completion, isTimed: true) { $0.commit(mutations, as: $1, $2) }
    }

    /// Aggregates over the backend's documents that match a query; a value for each, in order.
    package func aggregateAtServer(
        _ aggregates: [Aggregate], over query: Query,
        completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void
    ) {
        call(completion, isTimed: false) {
            $0.aggregate(aggregates, over: query.target, as: $1, $2)
        }
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

    private func call<Value: Sendable>(
        _ completion: @escaping @Sendable (Result<Value, LarderError>) -> Void, isTimed: Bool,
        _ body: @escaping @Sendable (any Remote, Credentials, @escaping Reply<Value>.Answer) -> Void
    ) {
        perform(
            { $0.call(Reply(completion), isTimed: isTimed, body) },
            otherwise: { completion(.failure(Self.terminated)) })
    }
}

/// What an engine is at, at one moment; to look at, not to act on.
package struct EngineState: Sendable {
    /// The targets that the backend is asked for, by number.
    package let targets: [Int32: TargetData]
    /// Documents in limbo that the backend is asked for, with their targets.
    package let activeLimbo: [DocumentPath: Int32]
    /// Documents in limbo that wait, in order.
    package let waitingLimbo: [DocumentPath]
    /// Batches on their way to the backend.
    package let pipelineCount: Int
    /// Whether the backend can be reached.
    package let network: NetworkState
    /// Whether the client has the network for all clients of the store.
    package let isPrimary: Bool
    /// How many views were looked at for changes of documents so far, each once a step.
    package let examinedViewCount: Int
    /// How many clients of the store were active of late, this one included.
    package let activeClientCount: Int
}

extension Client {
    /// Calls a closure with what the engine is at; not when the client is terminated.
    package func inspect(_ body: @escaping @Sendable (EngineState) -> Void) {
        perform { body($0.state) }
    }
}

extension Engine {
    fileprivate var state: EngineState {
        EngineState(
            targets: remoteStore.targets, activeLimbo: limbo.active, waitingLimbo: limbo.waiting,
            pipelineCount: remoteStore.pipelineCount, network: networkState,
            isPrimary: isPrimary, examinedViewCount: views.examinedViewCount,
            activeClientCount: activeClientCount)
    }

    private var activeClientCount: Int {
        guard multiClient != nil else { return 1 }
        let clients = try? store.read { (transaction) throws(LarderError) in
            try transaction.clients()
        }
        return (clients ?? []).count { $0.isActive(at: scheduler.uptime) }
    }
}
