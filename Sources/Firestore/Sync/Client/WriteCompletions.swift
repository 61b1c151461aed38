import LarderModel

/// The callers waiting for batches: to be answered by the backend, or to leave the queue.
struct WriteCompletions {
    /// Called when the backend has answered, by batch.
    private var acknowledgements: [Int64: Engine.Completion] = [:]
    /// Called when a batch is no longer pending.
    private var waiters: [Int64: [Engine.Completion]] = [:]
    /// Failed attempts to send a batch since the client began, where their number is limited.
    private var attemptCounts: [Int64: Int] = [:]

    /// The batches that callers wait for.
    var batchIDs: Set<Int64> { Set(acknowledgements.keys).union(waiters.keys) }

    mutating func add(_ acknowledged: @escaping Engine.Completion, for batchID: Int64) {
        acknowledgements[batchID] = acknowledged
    }

    mutating func addWaiter(_ completion: @escaping Engine.Completion, for batchID: Int64) {
        waiters[batchID, default: []].append(completion)
    }

    /// Takes the callers of a batch that has left the queue.
    mutating func remove(
        _ batchID: Int64
    ) -> (acknowledged: Engine.Completion?, waiters: [Engine.Completion]) {
        attemptCounts[batchID] = nil
        return (
            acknowledgements.removeValue(forKey: batchID),
            waiters.removeValue(forKey: batchID) ?? []
        )
    }

    /// Counts a failed attempt to send a batch.
    mutating func countAttempt(_ batchID: Int64) -> Int {
        attemptCounts[batchID, default: 0] += 1
        return attemptCounts[batchID, default: 1]
    }

    mutating func failWaiters(_ error: LarderError) {
        let failed = waiters.valuesInOrder
        waiters = [:]
        for waiter in failed.joined() { waiter(.failure(error)) }
    }

    mutating func failAcknowledgements(_ error: LarderError) {
        let failed = acknowledgements.valuesInOrder
        acknowledgements = [:]
        for acknowledged in failed { acknowledged(.failure(error)) }
    }
}
