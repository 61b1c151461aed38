package import LarderCore
package import LarderRuntime
import Synchronization

/// Tells the clients of one process of each other's commits, on their schedulers.
package final class SignalHub: StoreSignal {
    private struct Listener {
        weak var token: Token?
        let clientID: String
        let scheduler: any Scheduler
        let body: @Sendable () -> Void
    }

    /// Held by the listener.
    private final class Token: Sendable {}

    private let listeners = Mutex<[Listener]>([])

    /// A hub without listeners.
    package init() {}

    package func announce(from clientID: String) {
        let others = listeners.withLock { listeners in
            listeners.removeAll { $0.token == nil }
            return listeners.filter { $0.clientID != clientID }
        }
        for other in others { other.scheduler.run(other.body) }
    }

    package func listen(
        as clientID: String, on scheduler: any Scheduler, _ body: @escaping @Sendable () -> Void
    ) throws(LarderError) -> AnyObject {
        let token = Token()
        listeners.withLock {
            $0.append(
                Listener(token: token, clientID: clientID, scheduler: scheduler, body: body))
        }
        return token
    }
}
