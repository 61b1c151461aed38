package import LarderDocumentStore
package import LarderModel
package import LarderQuery
package import LarderRemote

extension Client {
    /// Enables the network; has no effect without a remote.
    package func enableNetwork(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.setNetwork(enabled: true, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Disables the network: snapshots come from the cache, writes stay pending.
    package func disableNetwork(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.setNetwork(enabled: false, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Reconnects to the backend at once, without backoff.
    package func reconnect() {
        perform { $0.remoteStore.restart() }
    }

    package var networkState: NetworkState { engine.networkState }

    /// Calls a closure with the reachability of the backend, now and after each change.
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

    /// The user whose writes are made and seen.
    package var user: UserID { engine.session.user }

    /// Makes and sees the writes of a user from now on, and authenticates as that user.
    ///
    /// Writes of the former user stay pending until that user returns. The same user again means
    /// new credentials.
    package func setUser(
        _ user: UserID,
        completion: @escaping @Sendable (Result<Void, LarderError>) -> Void = { _ in }
    ) {
        perform(
            { $0.setUser(user, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    // MARK: Sharing

    /// Sets whether the client is in the foreground; foreground clients are preferred as primary.
    ///
    /// Does nothing for a client that does not share its store.
    package func setForeground(_ isForeground: Bool) {
        perform { engine in
            engine.multiClient?.isForeground = isForeground
            engine.renewLease()
        }
    }

    /// Makes the client the primary; another primary finds out at its next renewal.
    ///
    /// Does nothing for a client that does not share its store.
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

/// A snapshot of an engine's state, for inspection.
package struct EngineState: Sendable {
    /// The targets listened to at the backend.
    package let targets: [Int32: TargetData]
    /// Documents in limbo being resolved, with their targets.
    package let activeLimbo: [DocumentPath: Int32]
    /// Documents in limbo waiting for resolution, in order.
    package let waitingLimbo: [DocumentPath]
    /// The number of batches under way.
    package let pipelineCount: Int
    package let network: NetworkState
    /// Whether the client uses the network for all clients of the store.
    package let isPrimary: Bool
    /// The number of views examined for changes of documents so far, each once per step.
    package let examinedViewCount: Int
    /// The number of clients of the store that are active, including this one.
    package let activeClientCount: Int
}

extension Client {
    /// Calls a closure with the engine's state; never for a terminated client.
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
