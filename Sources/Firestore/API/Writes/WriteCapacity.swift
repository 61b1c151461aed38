import LarderRuntime
import Synchronization

/// A bound on the number of unfinished writes, below which tasks wait to add another.
///
/// The bound is that of the tasks that wait: a write counts even if it was added without waiting.
final class WriteCapacity: Sendable {
    private struct State {
        /// The number of unfinished writes.
        var count = 0
        /// The waiting tasks, in the order of their calls; none while there is room.
        var waiting: [OneShot<Void>] = []
    }

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: the number of writes from which tasks wait; at least 1.
    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// Counts a write.
    func add() {
        state.withLock { $0.count += 1 }
    }

    /// Notes that a write is finished, and resumes as many tasks as there is room for; all of them if
    /// no write is left that could resume them.
    func finish() {
        let resumed = state.withLock { state in
            state.count -= 1
            let room = state.count == 0 ? state.waiting.count : max(0, limit - state.count)
            defer { state.waiting.removeFirst(min(room, state.waiting.count)) }
            return state.waiting.prefix(room)
        }
        for task in resumed { task.finish(.success(())) }
    }

    /// Suspends while the number of unfinished writes has reached the limit.
    ///
    /// - Throws: `cancelled` if the task is cancelled meanwhile.
    nonisolated(nonsending) func wait() async throws(LarderError) {
        let turn = state.withLock { state -> OneShot<Void>? in
            guard state.count >= limit else { return nil }
            let turn = OneShot<Void>(errorDomain: LarderError.firestoreDomain)
            state.waiting.append(turn)
            return turn
        }
        guard let turn else { return }
        do throws(LarderError) {
            try await turn.value()
        } catch {
            state.withLock { state in state.waiting.removeAll { $0 === turn } }
            throw error
        }
    }
}
