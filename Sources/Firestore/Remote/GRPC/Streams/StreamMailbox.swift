import Synchronization

/// Hands a stream's events to its handler: one after the other and in order, from any threads, and
/// without one waiting for the other.
final class StreamMailbox<Event: Sendable>: Sendable {
    private struct State {
        var events: [Event] = []
        var isDelivering = false
        var isOpened = false
        var isEnded = false
        var isMuted = false

        mutating func open(_ event: Event) {
            guard !isOpened else { return }
            isOpened = true
            events.append(event)
        }
    }

    private let opened: Event
    private let handler: @Sendable (Event) -> Void
    private let state = Mutex(State())

    /// A mailbox of a handler.
    ///
    /// - Parameter opened: what it hears before everything else but the end.
    init(opened: Event, _ handler: @escaping @Sendable (Event) -> Void) {
        self.opened = opened
        self.handler = handler
    }

    /// Notes that the stream is open; only the first call counts.
    func open() {
        deliver { $0.open(opened) }
    }

    /// Tells the handler of something that only an open stream can say.
    func put(_ event: Event) {
        deliver {
            $0.open(opened)
            $0.events.append(event)
        }
    }

    /// Tells the handler of the end, behind which there is nothing.
    func end(_ event: Event) {
        deliver {
            $0.events.append(event)
            $0.isEnded = true
        }
    }

    /// Lets the handler hear nothing more.
    ///
    /// - Returns: whether this is the first time.
    func mute() -> Bool {
        state.withLock { state in
            defer { state.isMuted = true }
            state.events = []
            return !state.isMuted
        }
    }

    private func deliver(_ change: (inout State) -> Void) {
        let isMine = state.withLock { state in
            guard !state.isEnded, !state.isMuted else { return false }
            change(&state)
            if state.isDelivering { return false }
            state.isDelivering = true
            return true
        }
        guard isMine else { return }
        while let event = next() { handler(event) }
    }

    private func next() -> Event? {
        state.withLock { state in
            guard state.events.isEmpty else { return state.events.removeFirst() }
            state.isDelivering = false
            return nil
        }
    }
}
