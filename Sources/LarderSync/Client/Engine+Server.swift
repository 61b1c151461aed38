import LarderModel
import LarderTransport

extension Engine {
    /// Asks the backend something that it answers once.
    func call<Value: Sendable>(
        _ reply: Reply<Value>,
        _ body: (any Remote, Credentials, @escaping Reply<Value>.Answer) -> Void
    ) {
        guard let remote = usableRemote(for: reply) else { return }
        let id = newID()
        calls[id] = { reply.send(.failure($0)) }
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
        calls[id] = {
            cancel()
            reply.send(.failure($0))
        }
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
        calls[id] = nil
        if case .failure(let error) = result, error.kind == .unauthenticated {
            remote?.invalidateToken()
        }
    }

    /// Tells who waits for the backend that there will be no answer.
    func failCalls(_ error: LarderError) {
        for fail in calls.values { fail(error) }
        calls = [:]
    }

    static let offline = LarderError(
        .unavailable, "The server cannot be asked because the client is offline.")
}
