import Synchronization

/// The requests to an engine, in order, and the progress of the writes among them.
package final class Inbox<Command: Sendable, Write: Sendable>: Sendable {
    private struct State {
        var commands: [Command] = []
        var isScheduled = false
        var isClosed = false
        var waiters: [Waiter] = []
        /// Writes that are neither committed nor refused, oldest first.
        var unfinished: [Write] = []
    }

    private struct Waiter {
        let ticket: UInt64
        let body: @Sendable () -> Void
    }

    private let state = Mutex(State())
    private let ended = Atomic<Bool>(false)
    private let enqueuedCount = Atomic<UInt64>(0)
    private let finishedCount = Atomic<UInt64>(0)

    /// An open, empty inbox.
    package init() {}

    /// Adds a request.
    ///
    /// - Parameter write: the write that it asks for, if it does.
    /// - Returns: whether the engine must be woken for it; nil when the inbox is closed.
    package func add(_ command: Command, write: Write? = nil) -> Bool? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            if let write {
                state.unfinished.append(write)
                enqueuedCount.wrappingAdd(1, ordering: .releasing)
            }
            state.commands.append(command)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
    }

    /// Takes the waiting requests.
    ///
    /// - Parameter commands: an empty list, whose memory is reused for the next requests.
    package func take(_ commands: inout [Command]) {
        state.withLock { swap(&$0.commands, &commands) }
    }

    /// Ends the engine's turn.
    ///
    /// - Returns: whether more requests wait, for which the engine must be woken.
    package func endTurn() -> Bool {
        state.withLock { state in
            state.isScheduled = !state.commands.isEmpty
            return state.isScheduled
        }
    }

    /// Whether ``end()`` was called.
    package var hasEnded: Bool { ended.load(ordering: .acquiring) }

    /// Marks the client as ended.
    package func end() {
        ended.store(true, ordering: .releasing)
    }

    /// Refuses requests from now on, and returns the waiting ones.
    package func close() -> [Command] {
        state.withLock { state in
            state.isClosed = true
            defer { state.commands.removeAll() }
            return state.commands
        }
    }

    /// Whether every write so far is committed or refused; lock-free.
    package var isSettled: Bool {
        finishedCount.load(ordering: .acquiring) == enqueuedCount.load(ordering: .acquiring)
    }

    /// Keeps a closure until the matching writes so far are committed or refused.
    ///
    /// - Parameter matches: whether a write touches the place that the closure will read.
    /// - Returns: whether the closure was kept; false when no such write is under way.
    package func wait(
        for matches: (Write) -> Bool, _ body: @escaping @Sendable () -> Void
    ) -> Bool {
        state.withLock { state in
            guard let last = state.unfinished.lastIndex(where: matches) else { return false }
            let finished = finishedCount.load(ordering: .acquiring)
            let waiter = Waiter(ticket: finished + UInt64(last) + 1, body: body)
            // Most tickets are the last so far.
            let position = (state.waiters.lastIndex { $0.ticket <= waiter.ticket } ?? -1) + 1
            state.waiters.insert(waiter, at: position)
            return true
        }
    }

    /// Counts writes as committed or refused.
    ///
    /// - Returns: the closures that waited for them.
    package func finish(_ count: Int) -> [@Sendable () -> Void] {
        state.withLock { state in
            let finished = finishedCount.wrappingAdd(
                UInt64(count), ordering: .acquiringAndReleasing
            ).newValue
            state.unfinished.removeFirst(min(count, state.unfinished.count))
            // Tickets rise with position.
            let ready = state.waiters.prefix { $0.ticket <= finished }.map(\.body)
            state.waiters.removeFirst(ready.count)
            return ready
        }
    }
}
