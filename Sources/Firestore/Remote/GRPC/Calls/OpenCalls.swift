import Synchronization

/// The tasks of a connection that have not ended; any thread may use it.
final class OpenCalls: Sendable {
    /// What a task does.
    enum Kind: Sendable {
        /// A stream, which goes on for ever.
        case stream
        /// A call, which ends with its answer.
        case call
    }

    private struct State {
        var tasks: [UInt64: (kind: Kind, task: Task<Void, Never>)] = [:]
        var lastID: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Starts a task, and holds it to its end.
    ///
    /// - Returns: the task, for whoever ends it early.
    @discardableResult
    func start(
        _ kind: Kind, _ body: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never> {
        state.withLock { state in
            state.lastID += 1
            let id = state.lastID
            // It cannot get to its end before it is held: that needs the lock.
            let task = Task { [self] in
                await body()
                _ = self.state.withLock { $0.tasks.removeValue(forKey: id) }
            }
            state.tasks[id] = (kind, task)
            return task
        }
    }

    /// Cancels tasks.
    ///
    /// - Parameter kind: which; nil for all.
    func cancel(_ kind: Kind? = nil) {
        let tasks = state.withLock { state in
            state.tasks.values.filter { kind == nil || $0.kind == kind }.map(\.task)
        }
        for task in tasks { task.cancel() }
    }

    /// Waits until all tasks have ended that there are now.
    func drain() async {
        for task in state.withLock({ $0.tasks.values.map(\.task) }) { await task.value }
    }

    /// How many tasks there are.
    var count: Int { state.withLock { $0.tasks.count } }
}
