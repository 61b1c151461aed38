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
        attempt(1)
    }

    private func attempt(_ number: Int) {
        do throws(LarderError) {
            let client = try firestore.connection.client()
            // What this object wrote before, the closure reads.
            client.afterEarlierWrites { [self] in
                firestore.transactions.enter(alone: number > 1) { [self] in run(number, client) }
            }
        } catch {
            done(.failure(error))
        }
    }

    private func run(_ number: Int, _ client: Client) {
        let transaction = Transaction(firestore, client)
        var failure: NSError?
        let value = Outcome(block.value(transaction, &failure))
        if let failure {
            transaction.discard()
            return end(.failure(failure))
        }
        transaction.commit { [self] result in
            switch result {
            case .success: end(.success(value))
            case .failure(let error) where error.kind == .aborted && number < maxAttempts:
                firestore.transactions.leave()
                attempt(number + 1)
            case .failure(let error): end(.failure(error))
            }
        }
    }

    private func end(_ result: Result<Outcome, any Error>) {
        firestore.transactions.leave()
        done(result)
    }
}
