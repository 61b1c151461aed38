import Foundation
import LarderModel
import LarderSync

/// A transaction from its first attempt to its last.
final class TransactionRun: Sendable {
    /// What a closure of the user's returned.
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

    /// Runs the closure, and again while what it read was changed meanwhile.
    func start() {
        guard maxAttempts > 0 else {
            return done(
                .failure(
                    LarderError.invalidArgument(
                        "A transaction has \(maxAttempts) attempts; it needs 1 at least.")))
        }
        do throws(LarderError) {
            let client = try firestore.connection.client()
            let gate = firestore.transactions
            let isLocal = !firestore.connection.configuration.hasBackend
            let ground: any TransactionGround =
                isLocal
                ? LocalTransactionGround(client: client, gate: gate)
                : ServerTransactionGround(client, gate)
            attempt(1, on: ground)
        } catch {
            done(.failure(error))
        }
    }

    private func attempt(_ number: Int, on ground: any TransactionGround) {
        ground.enter(attempt: number) { [self] result in
            switch result {
            case .success: run(number, on: ground)
            case .failure(let error):
                ground.leave()
                done(.failure(error))
            }
        }
    }

    private func run(_ number: Int, on ground: any TransactionGround) {
        let transaction = Transaction(firestore, ground)
        var failure: NSError?
        let value = Outcome(block.value(transaction, &failure))
        if let failure {
            transaction.discard()
            return finish(number, on: ground, failure, isOfClosure: true)
        }
        transaction.commit { [self] result in
            switch result {
            case .success:
                ground.leave()
                done(.success(value))
            case .failure(let error): finish(number, on: ground, error, isOfClosure: false)
            }
        }
    }

    /// Ends an attempt that failed, and begins another one where that may help.
    private func finish(
        _ number: Int, on ground: any TransactionGround, _ error: NSError, isOfClosure: Bool
    ) {
        ground.leave()
        if number < maxAttempts, ground.isWorthRetrying(error, isOfClosure: isOfClosure) {
            attempt(number + 1, on: ground)
        } else {
            done(.failure(error))
        }
    }
}
