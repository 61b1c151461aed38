import LarderModel
import LarderQuery
import LarderRemote
import Synchronization

/// What callers ask of an engine, in order, and how far their writes have come.
final class Inbox: Sendable {
    /// One request.
    enum Command: Sendable {
        /// A write, grouped in one commit with those next to it.
        case write(QueuedWrite)
        /// A listener, whose target is stored in one commit with those next to it.
        case listen(QueuedListener)
        /// An event of the watch stream.
        case watchStream(WatchEvent, generation: Int)
        /// An event of the write stream, whose answers share a commit with those next to them.
        case writeStream(WriteEvent, generation: Int)
        /// Anything else, on the engine.
        case perform(@Sendable (isolated Engine) -> Void)
    }

    private struct State {
        var commands: [Command] = []
        var isScheduled = false
        var isClosed = false
        var waiters: [Waiter] = []
        /// Writes that are not committed or refused yet, oldest first.
        var unfinished: [QueuedWrite] = []
    }

    private struct Waiter {
        let ticket: UInt64
        let body: @Sendable () -> Void
    }

    private let state = Mutex(State())
    private let ended = Atomic<Bool>(false)
    private let enqueuedCount = Atomic<UInt64>(0)
    private let finishedCount = Atomic<UInt64>(0)

    /// Adds a request.
    ///
    /// - Returns: whether the engine must be woken for it; nil when the inbox is closed.
    func add(_ command: Command) -> Bool? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            if case .write(let write) = command {
                state.unfinished.append(write)
                enqueuedCount.wrappingAdd(1, ordering: .releasing)
            }
            state.commands.append(command)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
    }

    /// Takes what has come.
    ///
    /// - Parameter commands: an empty list, whose memory is used for what comes next.
    func take(_ commands: inout [Command]) {
        state.withLock { swap(&$0.commands, &commands) }
    }

    /// Ends the engine's turn.
    ///
    /// - Returns: whether more has come meanwhile, for which the engine must be woken.
    func endTurn() -> Bool {
        state.withLock { state in
            state.isScheduled = !state.commands.isEmpty
            return state.isScheduled
        }
    }

    /// Whether the client has ended, or is about to.
    var hasEnded: Bool { ended.load(ordering: .acquiring) }

    /// Notes that the client ends.
    func end() {
        ended.store(true, ordering: .releasing)
    }

    /// Refuses requests from now on, and gives those that wait.
    func close() -> [Command] {
        state.withLock { state in
            state.isClosed = true
            defer { state.commands.removeAll() }
            return state.commands
        }
    }

    /// Whether every write so far is committed or refused; no lock, no wait.
    var isSettled: Bool {
        finishedCount.load(ordering: .acquiring) == enqueuedCount.load(ordering: .acquiring)
    }

    /// Keeps a closure until the writes so far that touch a place are committed or refused.
    ///
    /// - Parameter source: the place; nil for all that there is.
    /// - Returns: whether it was kept; false when there is nothing to wait for.
    func wait(
        touching source: Query.Source?, _ body: @escaping @Sendable () -> Void
    ) -> Bool {
        state.withLock { state in
            guard let last = state.unfinished.lastIndex(where: { $0.touches(source) }) else {
                return false
            }
            let finished = finishedCount.load(ordering: .acquiring)
            let waiter = Waiter(ticket: finished + UInt64(last) + 1, body: body)
            // Most tickets are the last so far.
            let position = (state.waiters.lastIndex { $0.ticket <= waiter.ticket } ?? -1) + 1
            state.waiters.insert(waiter, at: position)
            return true
        }
    }

    /// Counts writes that are committed or refused, and gives the closures that waited for them.
    func finish(_ count: Int) -> [@Sendable () -> Void] {
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
