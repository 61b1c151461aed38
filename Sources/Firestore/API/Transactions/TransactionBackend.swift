import Dispatch
import Foundation
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import Synchronization

/// What a transaction reads from and commits to, and when its attempts run.
protocol TransactionBackend: Sendable {
    /// Calls a closure when an attempt may run, on a thread that may block; ``leave()`` is to be
    /// called at the attempt's end.
    func enter(
        attempt number: Int, _ body: @escaping @Sendable (Result<Void, LarderError>) -> Void)

    /// Ends an attempt that was begun.
    func leave()

    /// Reads a document; blocks.
    func read(_ path: DocumentPath) throws(LarderError) -> TransactionRead

    /// Makes changes, if what was read still holds.
    func commit(
        _ mutations: [Mutation], on reads: [DocumentPath: TransactionRead],
        _ done: @escaping Completion<Void>)

    /// Whether an attempt that ended so is followed by another one.
    ///
    /// - Parameter isOfClosure: whether the closure gave the error.
    func isWorthRetrying(_ error: NSError, isOfClosure: Bool) -> Bool
}

/// A document as a transaction has read it.
struct TransactionRead: Sendable {
    /// What there was; nil for nothing known.
    let document: Document?
    /// What the snapshot says of itself.
    let state: SnapshotState

    /// The document, if there was one.
    var existing: Document? { document.flatMap { $0.exists ? $0 : nil } }
}

/// Transactions without a backend: on the local view, whose writes then are pending like others.
struct LocalTransactionBackend: TransactionBackend {
    let client: Client
    let gate: TransactionGate

    func enter(
        attempt number: Int, _ body: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        // What this object wrote before, the closure reads.
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
            document: document, state: SnapshotState(hasPendingWrites: isPending))
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
                LarderSync.PendingWrite.Expectation(path: $0.key, document: $0.value.document)
            },
            committed: { done($0.map { _ in }) },
            acknowledged: { _ in })
    }

    /// Whether what was read still holds, for a transaction that writes nothing.
    ///
    /// When each document is the same in a second pass, all were so between the passes.
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

/// Transactions with a backend: on its documents, without the cache and the queue of writes.
///
/// For one transaction; its attempts wait longer and longer for each other.
final class ServerTransactionBackend: TransactionBackend {
    private let client: Client
    private let gate: TransactionGate
    private let backoff = Mutex(Backoff())
    /// True for a server that did not answer in time: another attempt would wait as long again.
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
            throw LarderError(.internal, "The server has answered for other documents.")
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
        // The closure passes on what its reads gave; anything else is its own.
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
