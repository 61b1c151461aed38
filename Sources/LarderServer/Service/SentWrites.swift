import LarderModel
import Synchronization

/// The requests of a stream that have no answer yet, in order, no more than a limit: what each
/// writes.
final class SentWrites: Sendable {
    fileprivate struct State {
        var writes: [[Mutation]] = []
        var isStopped = false
        /// Goes on once fewer writes than so many have no answer.
        var waiter: (continuation: LoopContinuation<Void>, below: Int)?
    }

    private let state = Mutex(State())
    private let limit: Int

    /// None yet.
    init(limit: Int) {
        self.limit = max(limit, 1)
    }

    /// Adds a write; waits while there are too many.
    ///
    /// One task alone adds and drains.
    func add(_ mutations: [Mutation]) async {
        await wait(below: limit)
        state.withLock { $0.writes.append(mutations) }
    }

    /// Waits until every write has its answer.
    func drain() async {
        await wait(below: 1)
    }

    /// The oldest write.
    var oldest: [Mutation] { state.withLock { $0.writes.first ?? [] } }

    /// The oldest write, which has its answer now.
    func take() -> [Mutation] {
        let (mutations, waiter) = state.withLock { state in
            let mutations = state.writes.isEmpty ? [] : state.writes.removeFirst()
            return (mutations, state.takeWaiter())
        }
        waiter?.resume()
        return mutations
    }

    /// Lets whoever waits go on, now and later: there are no more answers.
    func stop() {
        let waiter = state.withLock { state in
            state.isStopped = true
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    private func wait(below count: Int) async {
        await withLoopContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.writes.count >= count, !state.isStopped else { return true }
                state.waiter = (continuation, count)
                return false
            }
            if isFree { continuation.resume() }
        }
    }
}

extension SentWrites.State {
    /// Whoever may go on now, if anybody.
    fileprivate mutating func takeWaiter() -> LoopContinuation<Void>? {
        guard let waiter, isStopped || writes.count < waiter.below else { return nil }
        self.waiter = nil
        return waiter.continuation
    }
}
