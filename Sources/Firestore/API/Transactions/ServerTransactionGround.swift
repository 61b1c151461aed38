import Dispatch
import Foundation
import LarderModel
import LarderRemote
import LarderSync
import Synchronization

/// Transactions with a backend: on its documents, without the cache and the queue of writes.
///
/// For one transaction; its attempts wait longer and longer for each other.
final class ServerTransactionGround: TransactionGround {
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
