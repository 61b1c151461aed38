import LarderModel
import LarderRemote

/// What somebody waits for that has to do with the backend.
struct ServerCall: Sendable {
    /// Ends the wait with an error.
    let fail: @Sendable (LarderError) -> Void
    /// Takes back the timer that was set for it.
    var cancelTimer: @Sendable () -> Void = {}
}

/// The cause of the error of a call that the backend has not answered in time; it may still be
/// carried out.
package struct NoAnswer: Error {}

extension Engine {
    /// Asks the backend something that it answers once.
    ///
    /// - Parameter isTimed: whether it fails with `unavailable` when the backend does not answer
    ///   in the time that it has for answers; otherwise the remote decides.
    func call<Value: Sendable>(
        _ reply: Reply<Value>, isTimed: Bool,
        _ body: (any Remote, Credentials, @escaping Reply<Value>.Answer) -> Void
    ) {
        guard let remote = usableRemote(for: reply) else { return }
        let id = newID()
        var call = ServerCall { reply.send(.failure($0)) }
        if isTimed {
            call.cancelTimer = scheduler.schedule(.callTimeout, after: callTimeout) { [weak self] in
                self?.assumeIsolated { $0.callTimedOut(id) }
            }
        }
        calls[id] = call
        body(remote, credentials) { [weak self] result in
            reply.send(result)
            _ = self?.add(.perform { $0.finishCall(id, result) })
        }
    }

    /// Lets a transaction wait before its next attempt, the longer the more there were.
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

    private func callTimedOut(_ id: ID) {
        calls.removeValue(forKey: id)?.fail(
            LarderError(
                .unavailable, "The server has not answered within \(callTimeout).",
                cause: NoAnswer()))
    }

    /// The backend, if it may be asked; else tells who wants to.
    ///
    /// Any client of a shared store may ask, not the primary alone.
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

    /// Tells who waits for the backend that there will be no answer.
    func failCalls(_ error: LarderError) {
        for call in calls.values {
            call.cancelTimer()
            call.fail(error)
        }
        calls = [:]
    }

    static let offline = LarderError(
        .unavailable, "The server cannot be asked because the client is offline.")
}
