import Dispatch
import Foundation
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import Synchronization

/// The place that a transaction reads from and commits to.
protocol TransactionBackend: Sendable {
    /// Calls a closure when an attempt may run, on a thread that may block; call ``leave()`` at the
    /// end of the attempt.
    func enter(
        attempt number: Int, _ body: @escaping @Sendable (Result<Void, LarderError>) -> Void)

    /// Ends an attempt.
    func leave()

    /// Reads a document; blocks.
    func read(_ path: DocumentPath) throws(LarderError) -> TransactionRead

    /// Commits changes if the documents read have not changed.
    func commit(
        _ mutations: [Mutation], on reads: [DocumentPath: TransactionRead],
        _ done: @escaping Completion<Void>)

    /// Whether an error should lead to another attempt.
    ///
    /// - Parameter isOfClosure: whether the error was set by the closure.
    func isWorthRetrying(_ error: NSError, isOfClosure: Bool) -> Bool
}

/// A document as read by a transaction.
struct TransactionRead: Sendable {
    /// The document; nil if it is unknown.
    let document: Document?
    let state: SnapshotState

    var existing: Document? { document.flatMap { $0.exists ? $0 : nil } }
}

/// Transactions without a backend, on the local view; their writes become pending, or are final if
/// the database is local.
struct LocalTransactionBackend: TransactionBackend {
    let client: Client
    let gate: TransactionGate

    func enter(
        attempt number: Int, _ body: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        // The closure reads the client's own earlier writes.
        client.afterEarlierWrites {
            gate.enter(alone: number > 1) { body(.success(())) }
        }
    }

    func leave() {
        gate.leave()
    }

    func read(_ path: DocumentPath) throws(LarderError) -> TransactionRead {
        let document = try client.document(at: path)
        let isPending = document.map { $0.exists && $0.hasLocalMutations } ?? false
        return TransactionRead(
            document: document,
            state: SnapshotState(hasPendingWrites: isPending, isFromCache: !client.isLocal))
    }

    func commit(
        _ mutations: [Mutation], on reads: [DocumentPath: TransactionRead],
        _ done: @escaping Completion<Void>
    ) {
        guard !mutations.isEmpty else {
            return done(Result { () throws(LarderError) in try check(reads) })
        }
        client.write(
            mutations,
            expectations: reads.map {
                LarderSync.QueuedWrite.Expectation(path: $0.key, document: $0.value.document)
            },
            committed: { done($0.map { _ in }) },
            acknowledged: { _ in })
    }

    /// Validates the reads of a transaction without writes.
    ///
    /// If each document is unchanged in a second pass, all had these states between the passes.
    private func check(_ reads: [DocumentPath: TransactionRead]) throws(LarderError) {
        guard reads.count > 1 else { return }
        for (path, read) in reads where try client.document(at: path) != read.document {
            throw LarderError(
                .aborted, "The document '\(path)' was changed while the transaction ran.")
        }
    }

    func isWorthRetrying(_ error: NSError, isOfClosure: Bool) -> Bool {
        !isOfClosure && (error as? LarderError)?.kind == .aborted
    }
}

/// Transactions with a backend, on its documents, bypassing the cache and the write queue.
///
/// Serves one transaction, with backoff between its attempts.
final class ServerTransactionBackend: TransactionBackend {
    private let client: Client
    private let gate: TransactionGate
    private let backoff = Mutex(Backoff.firestore)
    /// Set if the server did not answer in time: another attempt would wait as long again.
    private let isUnanswered = AtomicFlag()

    init(_ client: Client, _ gate: TransactionGate) {
        self.client = client
        self.gate = gate
    }

    func enter(
        attempt number: Int, _ body: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        client.whenTransactionIsDue(backoff.withLock { $0 }) { [self] result in
            if case .success(let next) = result { backoff.withLock { $0 = next } }
            gate.enter(alone: false) { body(result.map { _ in }) }
        }
    }

    func leave() {
        gate.leave()
    }

    func read(_ path: DocumentPath) throws(LarderError) -> TransactionRead {
        let answer = Mutex<Result<[DocumentReading], LarderError>?>(nil)
        let isAnswered = DispatchSemaphore(value: 0)
        client.readAtServer([path]) { [self] result in
            note(result)
            answer.withLock { $0 = result }
            isAnswered.signal()
        }
        isAnswered.wait()
        guard let reading = try answer.withLock({ $0 })?.get().first, reading.path == path else {
            throw LarderError(.internal, "The server returned other documents than requested.")
        }
        return TransactionRead(reading)
    }

    func commit(
        _ mutations: [Mutation], on reads: [DocumentPath: TransactionRead],
        _ done: @escaping Completion<Void>
    ) {
        do throws(LarderError) {
            let versions = reads.mapValues { $0.existing?.version ?? .none }
            let guarded = try TransactionWrites(reads: versions).guarded(mutations)
            guard !guarded.isEmpty else { return done(.success(())) }
            client.commitAtServer(guarded) { [self] result in
                note(result)
                done(result.map { _ in })
            }
        } catch {
            done(.failure(error))
        }
    }

    func isWorthRetrying(_ error: NSError, isOfClosure: Bool) -> Bool {
        // The closure rethrows errors of its reads; all others are the application's.
        !isUnanswered.isSet && error.domain == LarderError.firestoreDomain
            && LarderError.Code(rawValue: error.code).isWorthAnotherTransaction
    }

    private func note<Value>(_ result: Result<Value, LarderError>) {
        if case .failure(let error) = result, error.cause is NoAnswer { isUnanswered.set() }
    }
}

extension TransactionRead {
    fileprivate init(_ reading: DocumentReading) {
        document = reading.document.document(at: reading.path, readTime: reading.version)
        state = SnapshotState(
            hasPendingWrites: false, isFromCache: false, readTime: reading.version)
    }
}
