import LarderCore
package import LarderModel
import LarderRemote

/// Decides when the writes of a bulk writer are sent, and with which others.
///
/// ```
/// blocked --> ready --> in flight --> finished
///               ^           |
///               +- delayed <+ failed, to be retried
/// ```
///
/// A write is blocked by an earlier unfinished write of the same document, so that these are
/// executed in order and never share a batch. Full batches are sent as long as few enough are in
/// flight and the ramp-up allows them; a batch that is not full is sent if nothing is in flight, or
/// on a flush.
package struct BulkSchedule: Sendable {
    package typealias ID = UInt64

    /// The next action of the owner.
    package enum Step: Sendable, Equatable {
        /// Send these writes as a batch.
        case send([ID])
        /// Nothing before this time.
        case wait(until: Duration)
        /// Nothing before another write, result or flush.
        case rest
    }

    private struct Write {
        let mutation: Mutation
        var failedAttempts = 0
        var backoff = Backoff.firestore
    }

    /// The maximum number of writes of a batch; that of Google's bulk writers.
    package static let maxBatchCount = 20
    /// The maximum number of batches in flight.
    package static let maxBatchesInFlight = 25

    private var rampUp: RampUp?
    private let batchCount: Int
    private var lastID: ID = 0
    private var writes: [ID: Write] = [:]
    /// The unfinished writes of each document in order; the first one is not blocked.
    private var documents: [DocumentPath: [ID]] = [:]
    private var ready: ArraySlice<ID> = []
    /// Writes to be retried, ordered by time.
    private var delayed: [(due: Duration, id: ID)] = []
    private var batchesInFlight = 0
    /// The last write that does not wait for others to fill a batch.
    private var flushedID: ID = 0

    /// - Parameters:
    ///   - rampUp: the limit of the rate; nil for none.
    ///   - initialRate: the operations a second that the limit always allows.
    package init(_ rampUp: RampUp?, initialRate: Int = .max) {
        self.rampUp = rampUp
        batchCount = max(1, min(Self.maxBatchCount, initialRate))
    }

    /// The number of writes that are not finished.
    package var pendingCount: Int { writes.count }

    /// The ID of the last write; IDs rise.
    package var lastWrite: ID { lastID }

    /// True for a write that is not finished.
    package func isPending(_ id: ID) -> Bool { writes[id] != nil }

    package func mutation(_ id: ID) -> Mutation? { writes[id]?.mutation }

    /// The number of attempts of a write that have failed.
    package func failedAttempts(_ id: ID) -> Int { writes[id]?.failedAttempts ?? 0 }

    /// Adds a write.
    package mutating func add(_ mutation: Mutation) -> ID {
        lastID += 1
        writes[lastID] = Write(mutation: mutation)
        documents[mutation.path, default: []].append(lastID)
        if documents[mutation.path]?.count == 1 { ready.append(lastID) }
        return lastID
    }

    /// Sends all present writes without waiting for others to fill their batches.
    package mutating func flush() {
        flushedID = lastID
    }

    /// The next action; a batch that it sends counts as in flight.
    package mutating func next(at now: Duration) -> Step {
        let dueCount = delayed.prefix { $0.due <= now }.count
        ready += delayed.prefix(dueCount).map { $0.id }
        delayed.removeFirst(dueCount)
        let retry = delayed.first.map { Step.wait(until: $0.due) } ?? .rest
        guard !ready.isEmpty, batchesInFlight < Self.maxBatchesInFlight else { return retry }
        let batch = ready.prefix(batchCount)
        guard
            batch.count == batchCount || batchesInFlight == 0
                || batch.contains(where: { $0 <= flushedID })
        else { return retry }
        let delay = rampUp?.take(batch.count, at: now) ?? .zero
        guard delay == .zero else {
            return .wait(until: min(now + delay, delayed.first?.due ?? .seconds(Int64.max)))
        }
        ready.removeFirst(batch.count)
        batchesInFlight += 1
        return .send(Array(batch))
    }

    /// Notes that a batch has been answered; each of its writes is then finished or retried.
    package mutating func answered() {
        batchesInFlight -= 1
    }

    /// Notes that the last attempt of a write has failed.
    package mutating func failed(_ id: ID) {
        writes[id]?.failedAttempts += 1
    }

    /// Sends a failed write again, with exponential backoff.
    ///
    /// - Parameters:
    ///   - isOverloaded: whether the backend lacks resources: the backoff is then the longest.
    ///   - jitter: a random number in -0.5...0.5.
    package mutating func retry(
        _ id: ID, at now: Duration, isOverloaded: Bool = false, jitter: Double
    ) {
        guard var write = writes[id] else { return }
        // The first attempt is not delayed; it makes the second one wait.
        if write.failedAttempts == 1 { _ = write.backoff.nextDelay(now: now, jitter: 0) }
        if isOverloaded { write.backoff.resetToMax() }
        let due = now + write.backoff.nextDelay(now: now, jitter: jitter)
        writes[id] = write
        let position = delayed.firstIndex { $0.due > due } ?? delayed.endIndex
        delayed.insert((due, id), at: position)
    }

    /// Removes a write that was committed or has failed for good.
    package mutating func finish(_ id: ID) {
        guard let path = writes.removeValue(forKey: id)?.mutation.path else { return }
        documents[path]?.removeFirst()
        if let next = documents[path]?.first {
            ready.append(next)
        } else {
            documents[path] = nil
        }
    }
}
