public import LarderModel
import LarderRuntime
import LarderSync

/// The options of a ``BulkWriter``.
public struct BulkWriterOptions: Hashable, Sendable {
    /// The limit of the rate at which writes are sent.
    public enum Throttling: Hashable, Sendable {
        /// No limit.
        case off
        /// A number of writes a second at the start, which grows by half every five minutes up to
        /// another: the rate at which Cloud Firestore advises to begin with a collection.
        case rampUp(initialOpsPerSecond: Int = 500, maxOpsPerSecond: Int = 10_000)
    }

    /// The limit of the rate at which writes are sent; by default 500 a second, growing by half
    /// every five minutes up to 10,000.
    public var throttling = Throttling.rampUp()

    /// The maximum number of attempts of a write where ``BulkWriter/onWriteError(_:)`` has no
    /// handler; 10 by default.
    public var maxAttempts = 10

    /// The number of unfinished writes from which ``BulkWriter/waitForCapacity()`` suspends, at least
    /// 1; by default 1,000, of which 500 can be in flight.
    public var maxPendingWrites = 1_000

    /// Creates the default options.
    public init() {}
}

/// The result of a committed write.
public struct WriteResult: Hashable, Sendable {
    /// The update time of the document after the write, or for a write that changed nothing that
    /// before it; nil after a delete if the backend does not say.
    public let writeTime: Timestamp?

    init(_ result: MutationResult) {
        writeTime = result.version.isNone ? nil : result.version.timestamp
    }
}

/// A failed attempt of a write of a ``BulkWriter``.
public struct BulkWriteFailure: Sendable {
    /// The reason.
    public let error: LarderError

    /// The document.
    public let document: DocumentReference

    /// The number of attempts that have failed, including this one; 0 for a write that is invalid
    /// and was not sent.
    public let failedAttempts: Int

    init(error: LarderError, document: DocumentReference, failedAttempts: Int) {
        self.error = error
        self.document = document
        self.failedAttempts = failedAttempts
    }

    init(_ failure: BulkFailure, _ firestore: Firestore) {
        self.init(
            error: failure.error,
            document: DocumentReference(firestore, failure.mutation.path),
            failedAttempts: failure.failedAttempts)
    }
}

/// The number of writes of a ``BulkWriter`` by their state.
public struct BulkWriterProgress: Hashable, Sendable {
    /// Writes that have neither succeeded nor failed for good.
    public let pendingCount: Int
    /// Writes that the backend has committed.
    public let succeededCount: Int
    /// Writes that have failed for good, including those that were invalid.
    public let failedCount: Int
    /// Attempts after the first ones.
    public let retryCount: Int

    init(_ counts: BulkCounts, invalidCount: Int) {
        pendingCount = counts.pending
        succeededCount = counts.succeeded
        failedCount = counts.failed + invalidCount
        retryCount = counts.retries
    }
}

/// A handle to a write of a ``BulkWriter``, which proceeds even if the handle is deallocated.
public final class BulkWrite: Sendable {
    /// The document.
    public let document: DocumentReference

    private let outcome = OneShot<WriteResult>(errorDomain: LarderError.firestoreDomain)

    init(_ document: DocumentReference) {
        self.document = document
    }

    /// Suspends until the write has succeeded or failed for good.
    ///
    /// A write that does not fill a batch may wait for others that are under way, but for no call
    /// of ``BulkWriter/flush()``.
    ///
    /// - Throws: the error of the last attempt; `invalidArgument` for invalid data;
    ///   `failedPrecondition` without a backend, after ``BulkWriter/close()`` or for a terminated
    ///   database; `cancelled` if the task is cancelled, in which case the write proceeds.
    @discardableResult
    public nonisolated(nonsending) func result() async throws(LarderError) -> WriteResult {
        try await outcome.value()
    }

    /// Calls a closure when the write has succeeded or failed for good.
    func whenFinished(_ completion: @escaping Completion<WriteResult>) {
        outcome.whenFinished(completion)
    }

    func finish(_ result: Result<WriteResult, LarderError>) {
        outcome.finish(result)
    }
}
