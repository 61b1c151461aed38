package import LarderDocumentStore
package import LarderModel

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

    /// The user whose writes are applied and seen.
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
