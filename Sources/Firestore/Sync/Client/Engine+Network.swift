import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderRemote

extension Engine {
    /// Uses the network, or does not, as the application says.
    func setNetwork(enabled: Bool, _ completion: Completion) {
        if enabled {
            remoteStore.enableNetwork(reason: .user)
        } else {
            remoteStore.disableNetwork(reason: .user)
        }
        pump()
        let usesNetwork = enabled && remote != nil
        if let multiClient, multiClient.usesNetwork != usesNetwork {
            // Published as long as the client is primary.
            publishChanges()
            self.multiClient?.usesNetwork = usesNetwork
            renewLease()
        }
        completion(.success(()))
    }

    /// Applies what this client's own streams know of the network.
    func applyOwn(_ state: NetworkState) {
        guard remote != nil else { return }
        let shown = networkState
        show(multiClient?.merge(state, into: shown) ?? state)
    }

    /// Shows the state of the network to views and observers.
    func show(_ new: NetworkState) {
        let old = networkState
        guard remote != nil, new != old else { return }
        publish(new)
        finish(views.apply(new.listenerState, isSilent: new.isSilent))
        guard new.state != old.state || new.reason != old.reason else { return }
        observers.network.send(new)
    }

    /// Shows the view of a user from now on, and authenticates as that user.
    ///
    /// The same user again means new credentials: the streams are reopened.
    func setUser(_ user: UserID, _ completion: @escaping Completion) {
        guard !isTerminated else { return completion(.failure(Client.terminated)) }
        attempt(.userChange, orElse: { completion(.failure($0)) }) {
            (engine) throws(LarderError) in
            try engine.changeUser(user)
            completion(.success(()))
        }
    }

    private func changeUser(_ user: UserID) throws(LarderError) {
        let old = session
        if user != old.user {
            let changes = try old.localStore.changes(whenUserBecomes: user)
            completions.failWaiters(
                LarderError(
                    .cancelled,
                    "waiting for pending writes was cancelled because the user has changed"))
            // Requests to the primary are the former user's.
            publishChanges()
            publish(old.as(user))
            apply(changes)
            observers.pendingWrites.noteChange()
            observers.deadLetters.noteChange()
        }
        remoteStore.restart()
    }
}

// MARK: - Calls

/// A caller waiting for a response of the backend, or for its next attempt.
struct ServerCall: Sendable {
    /// Ends the wait with an error.
    let fail: @Sendable (LarderError) -> Void
    var cancelTimer: @Sendable () -> Void = {}
}

/// The cause of the error of a call that the backend has not answered in time; it may still be
/// carried out.
package struct NoAnswer: Error {}

extension Engine {
    /// Makes a call that the backend answers once.
    ///
    /// - Parameter isTimed: whether it fails with `unavailable` when the backend does not answer
    ///   within the time for answers; otherwise the remote decides.
    func call<Value: Sendable>(
        _ reply: Reply<Value>, isTimed: Bool,
        _ body: (any Remote, Credentials, @escaping Reply<Value>.Answer) -> Void
    ) {
        guard let remote = usableRemote(for: reply) else { return }
        let id = newID()
        var call = ServerCall { reply.send(.failure($0)) }
        if isTimed {
            let timeout = OnlineStateTracker.silence(configuration.answerTimeout)
            call.cancelTimer = scheduler.schedule(.callTimeout, after: timeout) { [weak self] in
                self?.assumeIsolated { $0.timeOut(id, after: timeout) }
            }
        }
        calls[id] = call
        body(remote, credentials) { [weak self] result in
            reply.send(result)
            _ = self?.add(.perform { $0.finishCall(id, result) })
        }
    }

    /// Delays the next attempt of a transaction, the longer the more attempts it has made.
    func delayTransaction(_ backoff: Backoff, _ reply: Reply<Backoff>) {
        guard usableRemote(for: reply) != nil else { return }
        var backoff = backoff
        let delay = backoff.nextDelay(now: scheduler.uptime, jitter: scheduler.random() - 0.5)
        let next = backoff
        guard delay > .zero else { return reply.send(.success(next)) }
        let id = newID()
        let cancel = scheduler.schedule(.transactionRetry, after: delay) { [weak self] in
            self?.assumeIsolated { $0.calls[id] = nil }
            reply.send(.success(next))
        }
        calls[id] = ServerCall(fail: { reply.send(.failure($0)) }, cancelTimer: cancel)
    }

    private func timeOut(_ id: ID, after timeout: Duration) {
        calls.removeValue(forKey: id)?.fail(
            LarderError(
                .unavailable, "The server has not answered within \(timeout).",
                cause: NoAnswer()))
    }

    /// The backend, if it may be called; otherwise fails the caller.
    ///
    /// Any client of a shared store may call it, not the primary alone.
    private func usableRemote<Value>(for reply: Reply<Value>) -> (any Remote)? {
        guard !isTerminated else {
            reply.send(.failure(Client.terminated))
            return nil
        }
        guard let remote, remoteStore.offlineCauses.isDisjoint(with: [.user, .shutdown]) else {
            reply.send(.failure(Self.offline))
            return nil
        }
        return remote
    }

    private func finishCall<Value>(_ id: ID, _ result: Result<Value, LarderError>) {
        calls.removeValue(forKey: id)?.cancelTimer()
        if case .failure(let error) = result, error.kind == .unauthenticated {
            remote?.invalidateToken()
        }
    }

    func failCalls(_ error: LarderError) {
        for call in calls.values {
            call.cancelTimer()
            call.fail(error)
        }
        calls = [:]
    }

    private static let offline = LarderError(
        .unavailable, "The server cannot be asked because the client is offline.")
}
