import Dispatch
import LarderModel
import Synchronization

/// The ``DocumentLocks`` of a backend, with the completions of those who wait; can be used from any
/// thread.
final class TransactionLocks: Sendable {
    /// Called once, on any thread: with success once the request may proceed, otherwise with
    /// `aborted` or `unavailable`.
    typealias Completion = @Sendable (WaitID, Result<Void, LarderError>) -> Void
    typealias WaitID = DocumentLocks.WaitID

    private struct State {
        var table = DocumentLocks()
        var completions: [WaitID: Completion] = [:]
        var isTicking = false
        var isClosed = false
    }

    static let contention = LarderError(
        .aborted, "Too much contention on these documents. Please try again.")

    private static let tickTime = DispatchTimeInterval.milliseconds(250)

    private let state = Mutex(State())
    private let hasLeft: @Sendable (TransactionID) -> Bool

    /// - Parameter hasLeft: whether the client of a transaction has left; must not use the locks.
    init(_ hasLeft: @escaping @Sendable (TransactionID) -> Bool) {
        self.hasLeft = hasLeft
    }

    /// Whether a transaction has lost its locks.
    func hasLost(_ id: TransactionID) -> Bool { state.withLock { $0.table.hasLost(id) } }

    /// Requests locks for a read of a transaction.
    ///
    /// - Returns: the wait, for ``end(_:)`` if nobody is interested any more; nil if the locks are
    ///   held, in which case the completion is not called.
    func read(
        _ keys: [LockKey], by id: TransactionID, seniority: UInt64,
        _ completion: @escaping Completion
    ) -> WaitID? {
        request(completion) { $0.read(keys, by: id, seniority: seniority) }
    }

    /// Requests the right to commit.
    ///
    /// - Returns: the wait, to be ended when the commit is in progress; nil if it may proceed, in
    ///   which case the completion is not called.
    func commit(
        _ keys: @autoclosure () -> [LockKey], by id: TransactionID?,
        _ completion: @escaping Completion
    ) -> WaitID? {
        request(completion) { $0.isIdle ? nil : $0.commit(keys(), by: id) }
    }

    /// Takes locks for what a transaction has read.
    func hold(_ keys: [LockKey], by id: TransactionID, seniority: UInt64) {
        state.withLock { state in
            if !state.isClosed { state.table.hold(keys, by: id, seniority: seniority) }
        }
    }

    /// Ends a wait: that of a commit which is in progress, or one whose request is cancelled.
    func end(_ id: WaitID) {
        change { state in
            state.completions[id] = nil
            state.table.end(id)
        }
    }

    /// Releases the locks of transactions that have ended.
    func release(_ ids: some Sequence<TransactionID>) {
        change { state in
            for id in ids { state.table.release(id) }
        }
    }

    /// Notes conflicts between transactions.
    func noteConflicts(_ keys: [LockKey]) {
        guard !keys.isEmpty else { return }
        change { state in
            for key in keys { state.table.noteConflict(key) }
        }
    }

    /// Refuses all requests that wait.
    func close() {
        let completions = state.withLock { state in
            defer { state.completions = [:] }
            state.isClosed = true
            state.table = DocumentLocks()
            return state.completions.sorted { $0.key < $1.key }
        }
        for (id, completion) in completions { completion(id, .failure(BackendCore.closed)) }
    }

    /// Lets a tick pass.
    func tick() {
        change { $0.table.tick(hasLeft) }
    }

    private func request(
        _ completion: @escaping Completion, _ body: (inout DocumentLocks) -> WaitID?
    ) -> WaitID? {
        change { state in
            let id = body(&state.table)
            if let id { state.completions[id] = completion }
            return id
        }
    }

    /// Changes the table, and tells requests what has become of them.
    private func change<R>(_ body: (inout State) -> R?) -> R? {
        let (result, decided, isStarting) = state.withLock { state in
            guard !state.isClosed else {
                return (R?.none, [(DocumentLocks.Decision, Completion)](), false)
            }
            let result = body(&state)
            let decided = state.table.takeDecisions().compactMap { decision in
                state.completions.removeValue(forKey: decision.wait).map { (decision, $0) }
            }
            let isStarting = !state.isTicking && state.table.needsTicks
            if isStarting { state.isTicking = true }
            return (result, decided, isStarting)
        }
        for (decision, completion) in decided {
            completion(
                decision.wait, decision.isGranted ? .success(()) : .failure(Self.contention))
        }
        if isStarting { scheduleTick() }
        return result
    }

    private func scheduleTick() {
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.tickTime) { [weak self] in
            guard let self else { return }
            tick()
            let goesOn = state.withLock { state in
                state.isTicking = !state.isClosed && state.table.needsTicks
                return state.isTicking
            }
            if goesOn { scheduleTick() }
        }
    }
}
