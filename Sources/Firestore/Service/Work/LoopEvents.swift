import NIOCore
import Synchronization

/// Carries what any thread tells to an event loop: in order, and as much at once as there is.
final class LoopEvents<Event: Sendable>: Sendable {
    private struct State {
        var events: [Event] = []
        /// Hears that there are some.
        var listener: (@Sendable () -> Void)?
        /// Whether it has heard so since it took the last ones.
        var isTold = false
    }

    private let state = Mutex(State())
    private let loop: any EventLoop

    /// Events that nobody hears of yet.
    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    /// Has a closure called on the event loop when there are events, once until they are taken.
    func listen(_ listener: @escaping @Sendable () -> Void) {
        state.withLock { $0.listener = listener }
    }

    /// Tells of an event, unless nobody listens; any thread may.
    func tell(_ event: Event) {
        let isFirst = state.withLock { state in
            guard state.listener != nil else { return false }
            state.events.append(event)
            defer { state.isTold = true }
            return !state.isTold
        }
        if isFirst { loop.execute { [self] in state.withLock { $0.listener }?() } }
    }

    /// The events that nobody has taken.
    func take() -> [Event] {
        state.withLock { state in
            defer { (state.events, state.isTold) = ([], false) }
            return state.events
        }
    }

    /// Lets nobody listen any longer.
    func close() {
        let gone = state.withLock { state in
            defer { state = State() }
            return state
        }
        // Outside of the lock, as what is let go may be what tells.
        withExtendedLifetime(gone) {}
    }
}
