import Dispatch
import Foundation
import LarderModel
import LarderSync
import Synchronization

/// The attempts of one transaction.
final class TransactionRun: Sendable {
    /// The result of the closure.
    typealias Outcome = Transferred<Any?>

    private let firestore: Firestore
    private let maxAttempts: Int
    private let block: Transferred<(Transaction, NSErrorPointer) -> Any?>
    private let done: @Sendable (Result<Outcome, any Error>) -> Void

    init(
        _ firestore: Firestore, maxAttempts: Int,
        block: @escaping (Transaction, NSErrorPointer) -> Any?,
        done: @escaping @Sendable (Result<Outcome, any Error>) -> Void
    ) {
        self.firestore = firestore
        self.maxAttempts = maxAttempts
        self.block = Transferred(block)
        self.done = done
    }

    /// Starts the first attempt.
    func start() {
        guard maxAttempts > 0 else {
            return done(
                .failure(
                    LarderError.invalidArgument(
                        "maxAttempts is \(maxAttempts); it must be at least 1.")))
        }
        do throws(LarderError) {
            let client = try firestore.connection.client()
            let gate = firestore.transactions
            let isLocal = !firestore.connection.configuration.hasBackend
            let backend: any TransactionBackend =
                isLocal
                ? LocalTransactionBackend(client: client, gate: gate)
                : ServerTransactionBackend(client, gate)
            attempt(1, on: backend)
        } catch {
            done(.failure(error))
        }
    }

    private func attempt(_ number: Int, on backend: any TransactionBackend) {
        backend.enter(attempt: number) { [self] result in
            switch result {
            case .success: run(number, on: backend)
            case .failure(let error):
                backend.leave()
                done(.failure(error))
            }
        }
    }

    private func run(_ number: Int, on backend: any TransactionBackend) {
        let transaction = Transaction(firestore, backend)
        var failure: NSError?
        let value = Outcome(block.value(transaction, &failure))
        if let failure {
            transaction.discard()
            return finish(number, on: backend, failure, isOfClosure: true)
        }
        transaction.commit { [self] result in
            switch result {
            case .success:
                backend.leave()
                done(.success(value))
            case .failure(let error): finish(number, on: backend, error, isOfClosure: false)
            }
        }
    }

    /// Ends a failed attempt and starts another one if the error allows it.
    private func finish(
        _ number: Int, on backend: any TransactionBackend, _ error: NSError, isOfClosure: Bool
    ) {
        backend.leave()
        if number < maxAttempts, backend.isWorthRetrying(error, isOfClosure: isOfClosure) {
            attempt(number + 1, on: backend)
        } else {
            done(.failure(error))
        }
    }
}

/// Schedules attempts of transactions so that none starves.
///
/// First attempts run concurrently and are validated when they commit. A retry runs exclusively: it
/// waits for attempts in progress, and later ones wait for it. Attempts run on a dispatch queue,
/// never on the cooperative pool, because the closures block.
final class TransactionGate: Sendable {
    private struct Waiting: Sendable {
        let isExclusive: Bool
        let body: @Sendable () -> Void
    }

    private struct State {
        var waiting: [Waiting] = []
        var runningCount = 0
        var isExclusive = false

        /// Removes and returns the attempts that may start now, in order of arrival.
        mutating func admit() -> [Waiting] {
            var admitted: [Waiting] = []
            while let next = waiting.first, !isExclusive, !next.isExclusive || runningCount == 0 {
                waiting.removeFirst()
                runningCount += 1
                isExclusive = next.isExclusive
                admitted.append(next)
            }
            return admitted
        }
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(
        label: "larder.transactions", qos: .userInitiated, attributes: .concurrent)

    /// Runs an attempt when its turn comes; call ``leave()`` when it has committed or failed.
    func enter(alone isExclusive: Bool, _ body: @escaping @Sendable () -> Void) {
        start { state in
            state.waiting.append(Waiting(isExclusive: isExclusive, body: body))
        }
    }

    /// Ends an attempt.
    func leave() {
        start { state in
            state.runningCount -= 1
            state.isExclusive = false
        }
    }

    private func start(_ change: (inout State) -> Void) {
        let admitted = state.withLock { state in
            change(&state)
            return state.admit()
        }
        for attempt in admitted { queue.async(execute: attempt.body) }
    }
}
