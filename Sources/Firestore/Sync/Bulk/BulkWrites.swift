import LarderCore
package import LarderModel
import LarderRemote
import Synchronization

/// A failed attempt of a write.
package struct BulkFailure: Sendable {
    package let mutation: Mutation
    package let error: LarderError
    /// The number of attempts so far, including this one.
    package let failedAttempts: Int
}

/// The number of writes of a bulk writer by their state.
package struct BulkCounts: Sendable, Equatable {
    package var pending = 0
    package var succeeded = 0
    package var failed = 0
    package var retries = 0

    package init() {}
}

/// Writes that are sent to the backend in parallel, each committed by itself, bypassing the cache
/// and the write queue.
///
/// Decides when to send in ``BulkSchedule``; time and random numbers come from the client's
/// scheduler. Thread-safe. Closures are called on any thread.
package final class BulkWrites: Sendable {
    package typealias Completion = @Sendable (Result<MutationResult, LarderError>) -> Void
    /// Decides whether a failed write is sent again, and answers by calling the closure.
    package typealias Decision = @Sendable (BulkFailure, @escaping @Sendable (Bool) -> Void) -> Void

    private struct State {
        var schedule: BulkSchedule
        var completions: [BulkSchedule.ID: Completion] = [:]
        var counts = BulkCounts()
        var flushes: [Flush] = []
        /// True while a turn is enqueued on the engine's executor and has not begun.
        var isPumpDue = false
        /// The time of the pending timer.
        var timer: Duration?
    }

    /// A caller that waits for writes.
    private struct Flush {
        let last: BulkSchedule.ID
        var left: Int
        let completion: @Sendable () -> Void
    }

    private let client: Client
    private let decide: Decision
    private let state: Mutex<State>

    /// - Parameters:
    ///   - initialRate: the operations a second at the start; nil for no limit of the rate.
    ///   - largestRate: the operations a second that are never exceeded.
    package init(
        _ client: Client, initialRate: Int?, largestRate: Int, decide: @escaping Decision
    ) {
        self.client = client
        self.decide = decide
        let now = client.engine.scheduler.uptime
        state = Mutex(
            State(
                schedule: BulkSchedule(
                    initialRate.map { RampUp(initial: $0, most: largestRate, at: now) },
                    initialRate: initialRate ?? .max)))
    }

    package var counts: BulkCounts {
        state.withLock { state in
            var counts = state.counts
            counts.pending = state.schedule.pendingCount
            return counts
        }
    }

    /// Adds a write.
    ///
    /// - Parameter completion: called once.
    package func add(_ mutation: Mutation, _ completion: @escaping Completion) {
        state.withLock { state in
            let id = state.schedule.add(mutation)
            state.completions[id] = completion
        }
        pumpSoon()
    }

    /// Sends all present writes, and calls a closure when they are finished and their completions
    /// were called.
    package func flush(_ completion: @escaping @Sendable () -> Void) {
        let isEmpty = state.withLock { state in
            state.schedule.flush()
            let left = state.completions.count
            guard left > 0 else { return true }
            state.flushes.append(
                Flush(last: state.schedule.lastWrite, left: left, completion: completion))
            return false
        }
        if isEmpty { completion() } else { pumpSoon() }
    }

    // MARK: Sending

    private func pumpSoon() {
        let isDue = state.withLock { state in
            defer { state.isPumpDue = true }
            return state.isPumpDue
        }
        guard !isDue else { return }
        client.perform({ self.pump($0) }, otherwise: { self.failAll() })
    }

    /// Sends what may be sent, and sets a timer for the rest.
    private func pump(_ engine: isolated Engine) {
        state.withLock { $0.isPumpDue = false }
        let now = engine.scheduler.uptime
        while true {
            let step = state.withLock { state in
                (state.schedule.next(at: now), state.timer)
            }
            switch step {
            case (.rest, _): return
            case (.wait(let time), let timer):
                if let timer, timer <= time { return }
                state.withLock { $0.timer = time }
                _ = engine.scheduler.schedule(.bulkWrites, after: time - now) {
                    self.state.withLock { if $0.timer == time { $0.timer = nil } }
                    self.pumpSoon()
                }
                return
            case (.send(let ids), _): send(ids)
            }
        }
    }

    private func send(_ ids: [BulkSchedule.ID]) {
        let mutations = state.withLock { state in ids.compactMap { state.schedule.mutation($0) } }
        client.commitEachAtServer(mutations) { [self] result in
            state.withLock { $0.schedule.answered() }
            for (position, id) in ids.enumerated() {
                note(
                    result.flatMap { outcomes in
                        position < outcomes.count
                            ? outcomes[position]
                            : .failure(LarderError(.internal, "the backend omitted a result"))
                    }, of: id)
            }
            pumpSoon()
        }
    }

    private func note(_ outcome: MutationOutcome, of id: BulkSchedule.ID) {
        guard case .failure(let error) = outcome else { return finish(id, outcome) }
        let failure = state.withLock { state -> BulkFailure? in
            state.schedule.failed(id)
            return state.schedule.mutation(id).map {
                BulkFailure(
                    mutation: $0, error: error,
                    failedAttempts: state.schedule.failedAttempts(id))
            }
        }
        guard let failure else { return }
        guard !client.isTerminated else { return finish(id, outcome) }
        decide(failure) { [self] isRetried in
            guard isRetried, !client.isTerminated else {
                finish(id, outcome)
                return pumpSoon()
            }
            let scheduler = client.engine.scheduler
            let (now, jitter) = (scheduler.uptime, scheduler.random() - 0.5)
            state.withLock { state in
                state.counts.retries += 1
                state.schedule.retry(
                    id, at: now, isOverloaded: error.kind == .resourceExhausted, jitter: jitter)
            }
            pumpSoon()
        }
    }

    private func finish(_ id: BulkSchedule.ID, _ outcome: MutationOutcome) {
        let completion = state.withLock { state -> Completion? in
            // The end of the client may have finished it.
            guard state.schedule.isPending(id) else { return nil }
            switch outcome {
            case .success: state.counts.succeeded += 1
            case .failure: state.counts.failed += 1
            }
            state.schedule.finish(id)
            return state.completions[id]
        }
        guard let completion else { return }
        completion(outcome)
        let flushed = state.withLock { state -> [Flush] in
            guard state.completions.removeValue(forKey: id) != nil else { return [] }
            for index in state.flushes.indices where id <= state.flushes[index].last {
                state.flushes[index].left -= 1
            }
            defer { state.flushes.removeAll { $0.left == 0 } }
            return state.flushes.filter { $0.left == 0 }
        }
        for flush in flushed { flush.completion() }
    }

    /// Fails all writes of a terminated client that are not in flight.
    private func failAll() {
        let ids = state.withLock { state in
            state.isPumpDue = false
            return state.completions.keys.sorted()
        }
        for id in ids where state.withLock({ $0.schedule.isPending(id) }) {
            finish(id, .failure(Client.terminated))
        }
    }
}
