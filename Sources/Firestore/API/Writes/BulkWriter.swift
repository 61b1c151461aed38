import Dispatch
import LarderModel
import LarderRuntime
import LarderSync
import Logging
import Synchronization

extension Firestore {
    /// A bulk writer, which sends large numbers of writes to the backend in parallel.
    public func bulkWriter(options: BulkWriterOptions = BulkWriterOptions()) -> BulkWriter {
        BulkWriter(self, options)
    }
}

/// Sends large numbers of writes to the backend in parallel, each committed by itself.
///
/// Writes bypass the cache and the queue of pending writes, as transactions do: they need a backend
/// that can be reached, are lost with the process, and reach listeners and the cache from the
/// server. In a local database they are commits in the store. Different documents are written in any
/// order, and those of one document in the order of the calls. Full batches of 20 writes are sent at
/// once, smaller ones while none is under way and by ``flush()``.
///
/// A failed write is sent again after a second, and with growing delays up to a minute, if
/// ``onWriteError(_:)`` decides so; without a handler, up to ten attempts are made if the backend
/// could not be reached or the write conflicted with another. A write whose response was lost may
/// be applied twice: use fields that are set rather than incremented, or conditions.
///
/// ```swift
/// let writer = db.bulkWriter()
/// for city in cities {
///     try await writer.waitForCapacity()
///     writer.setData(city.fields, forDocument: db.document("cities/\(city.id)"))
/// }
/// await writer.close()
/// ```
///
/// Methods can be called from any thread; those that add a write return immediately. Each write is
/// kept in memory until it is finished: await ``waitForCapacity()`` before each one to bound their
/// number.
public final class BulkWriter: Sendable {
    typealias ErrorHandler = @Sendable (BulkWriteFailure) -> Bool
    typealias ResultHandler = @Sendable (DocumentReference, WriteResult) -> Void

    private struct State {
        var isClosed = false
        /// The number of writes that were invalid, and never sent.
        var invalidCount = 0
        var onError: ErrorHandler?
        var onResult: ResultHandler?
        var writes: BulkWrites?
    }

    private let firestore: Firestore
    private let options: BulkWriterOptions
    private let logsFailures: Bool
    private let state = Mutex(State())
    private let capacity: WriteCapacity

    init(_ firestore: Firestore, _ options: BulkWriterOptions, logsFailures: Bool = true) {
        self.firestore = firestore
        self.options = options
        self.logsFailures = logsFailures
        capacity = WriteCapacity(limit: options.maxPendingWrites)
    }

    /// Sets the handler of failed writes, which decides whether a write is sent again.
    ///
    /// Called on the callback queue, instead of the rule described for the class. Its decision has
    /// no effect for a write that is invalid or was added too late, nor after the database was
    /// terminated. A later call replaces the handler.
    public func onWriteError(_ handler: @escaping @Sendable (BulkWriteFailure) -> Bool) {
        state.withLock { $0.onError = handler }
    }

    /// Sets the handler of committed writes, called on the callback queue; a later call replaces
    /// it.
    public func onWriteResult(
        _ handler: @escaping @Sendable (DocumentReference, WriteResult) -> Void
    ) {
        state.withLock { $0.onResult = handler }
    }

    /// The number of writes by their state.
    public var progress: BulkWriterProgress {
        let (writes, invalidCount) = state.withLock { ($0.writes, $0.invalidCount) }
        return BulkWriterProgress(writes?.counts ?? BulkCounts(), invalidCount: invalidCount)
    }

    // MARK: Writes

    /// Adds a write, and returns a handle to its result.
    func add(
        _ document: DocumentReference,
        _ body: (inout Writes, DocumentPath) throws(LarderError) -> Void
    ) -> BulkWrite {
        let write = BulkWrite(document)
        capacity.add()
        write.whenFinished { [capacity] _ in capacity.finish() }
        do throws(LarderError) {
            guard document.firestore === firestore else {
                throw .invalidArgument(
                    "The document '\(document.path)' belongs to another Firestore object than the "
                        + "bulk writer.")
            }
            var changes = Writes(firestore)
            try body(&changes, try document.location.get())
            let writes = try running()
            for mutation in changes.mutations {
                writes.add(mutation) { [self] result in finish(write, result) }
            }
        } catch {
            state.withLock { $0.invalidCount += 1 }
            reportInvalid(write, error)
        }
        return write
    }

    /// The writes of the client, which are begun with the first one.
    private func running() throws(LarderError) -> BulkWrites {
        let client = try firestore.connection.client()
        guard client.isLocal || firestore.connection.configuration.hasBackend else {
            throw LarderError(
                .failedPrecondition,
                "A bulk writer needs a backend, and the database has none and is not local.")
        }
        return try state.withLock { (state) throws(LarderError) in
            guard !state.isClosed else {
                throw LarderError(
                    .failedPrecondition, "The bulk writer has already been closed.")
            }
            if let writes = state.writes { return writes }
            var (initial, largest) = (Int?.none, Int.max)
            // Nothing is sent from a local database.
            if case .rampUp(let rate, let most) = options.throttling, !client.isLocal {
                (initial, largest) = (rate, most)
            }
            let writes = BulkWrites(client, initialRate: initial, largestRate: largest) {
                [weak self] failure, answer in
                guard let self else { return answer(false) }
                decide(failure, answer)
            }
            state.writes = writes
            return writes
        }
    }

    /// Suspends while ``BulkWriterOptions/maxPendingWrites`` or more writes are unfinished: neither
    /// failed for good nor committed, or with a handler that has not been called.
    ///
    /// A task that waits before each of its writes never adds to that number; each further task may
    /// exceed it by one. Writes that are sent again count until they are finished.
    ///
    /// - Throws: `cancelled` if the task is cancelled while it waits.
    public nonisolated(nonsending) func waitForCapacity() async throws(LarderError) {
        try await capacity.wait()
    }

    // MARK: End

    /// Sends all writes so far, and suspends until they have succeeded or failed for good, and
    /// their handlers were called.
    public nonisolated(nonsending) func flush() async {
        await withCheckedContinuation { continuation in
            whenFlushed { continuation.resume() }
        }
    }

    /// Sends all writes so far, and calls the handler on the callback queue when they have
    /// succeeded or failed for good.
    public func flush(completion: @escaping @Sendable () -> Void) {
        let queue = firestore.callbackQueue
        whenFlushed { queue.async(execute: completion) }
    }

    private func whenFlushed(_ completion: @escaping @Sendable () -> Void) {
        let (writes, hasHandlers) = state.withLock {
            ($0.writes, $0.onResult != nil || $0.onError != nil)
        }
        guard let writes else { return completion() }
        let queue = firestore.callbackQueue
        writes.flush {
            // After the handlers on the queue.
            if hasHandlers { queue.async(execute: completion) } else { completion() }
        }
    }

    /// Refuses further writes with `failedPrecondition`, and waits as ``flush()``.
    public nonisolated(nonsending) func close() async {
        state.withLock { $0.isClosed = true }
        await flush()
    }

    // MARK: Handlers

    private func decide(_ failure: BulkFailure, _ answer: @escaping @Sendable (Bool) -> Void) {
        guard let handler = state.withLock({ $0.onError }) else {
            return answer(
                failure.isWorthRetrying && failure.failedAttempts < options.maxAttempts)
        }
        let failure = BulkWriteFailure(failure, firestore)
        firestore.callbackQueue.async { answer(handler(failure)) }
    }

    private func finish(_ write: BulkWrite, _ result: Result<MutationResult, LarderError>) {
        let (onResult, onError) = state.withLock { ($0.onResult, $0.onError) }
        switch result {
        case .success(let result):
            let result = WriteResult(result)
            if let onResult {
                firestore.callbackQueue.async {
                    onResult(write.document, result)
                    write.finish(.success(result))
                }
            } else {
                write.finish(.success(result))
            }
        case .failure(let error):
            if onError == nil { log(write, error) }
            write.finish(.failure(error))
        }
    }

    private func reportInvalid(_ write: BulkWrite, _ error: LarderError) {
        guard let onError = state.withLock({ $0.onError }) else {
            log(write, error)
            return write.finish(.failure(error))
        }
        firestore.callbackQueue.async {
            _ = onError(
                BulkWriteFailure(error: error, document: write.document, failedAttempts: 0))
            write.finish(.failure(error))
        }
    }

    private func log(_ write: BulkWrite, _ error: LarderError) {
        guard logsFailures else { return }
        firestore.logger.error(
            "The bulk write of '\(write.document.path)' failed: \(error.message)")
    }
}

extension BulkFailure {
    /// True if the write is retried when the application has set no handler; the rule of Google's bulk
    /// writers.
    fileprivate var isWorthRetrying: Bool {
        switch error.kind {
        case .unavailable, .aborted: true
        case .internal: mutation.operation == .delete
        default: false
        }
    }
}
