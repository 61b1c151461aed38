import Foundation
import LarderModel
import LarderSync

extension Firestore {
    /// Runs a closure that reads and writes documents, of which either all is done or nothing.
    ///
    /// With a backend the transaction reads and commits there: it sees the server's documents
    /// without pending writes, and without the server it fails with `unavailable`. Listeners hear
    /// of what it wrote from the server. Without a backend it works on the local view of the
    /// documents, and its writes are then pending like any others.
    ///
    /// The closure runs on a thread of the database's own, and again, up to five times in all, when
    /// a document that it read was changed before it could commit or, with longer and longer
    /// waits, when the server could not be reached. It is to have no other effects, and must not
    /// wait for another transaction. Putting an error into its second parameter ends the
    /// transaction with that error; one that ``Transaction/getDocument(_:)`` has thrown because of
    /// the server has the closure run again. A server that has not answered a read or the commit
    /// in the time of ``FirestoreConfiguration/serverWait-swift.property`` is not asked again.
    ///
    /// - Parameters:
    ///   - updateBlock: reads first, then writes; what it returns goes to the handler.
    ///   - completion: called on the callback queue once the writes are made, or with why it
    ///     failed: the closure's error, that of the last attempt, or `invalidArgument` for what
    ///     Firestore does not take. Nothing was written then, unless the backend's answer to the
    ///     last commit was lost (`unavailable`, `deadlineExceeded`, `unknown`, `internal`), and the
    ///     writes may have been made.
    public func runTransaction(
        _ updateBlock: @escaping (Transaction, NSErrorPointer) -> Any?,
        completion: @escaping (Any?, (any Error)?) -> Void
    ) {
        runTransaction(with: nil, block: updateBlock, completion: completion)
    }

    /// Runs a closure that reads and writes documents, as often as the options allow.
    ///
    /// See ``runTransaction(_:completion:)``.
    public func runTransaction(
        with options: TransactionOptions?,
        block: @escaping (Transaction, NSErrorPointer) -> Any?,
        completion: @escaping (Any?, (any Error)?) -> Void
    ) {
        let completion = Transferred(completion)
        let queue = callbackQueue
        TransactionRun(self, maxAttempts: options?.maxAttempts ?? 5, block: block) { result in
            queue.async {
                switch result {
                case .success(let outcome): completion.value(outcome.value, nil)
                case .failure(let error): completion.value(nil, error)
                }
            }
        }.start()
    }

    /// Runs a closure that reads and writes documents, of which either all is done or nothing.
    ///
    /// See ``runTransaction(_:completion:)``.
    ///
    /// - Returns: what the closure returned.
    /// - Throws: why it failed.
    public nonisolated(nonsending) func runTransaction(
        _ updateBlock: @escaping (Transaction, NSErrorPointer) -> sending Any?
    ) async throws -> sending Any? {
        try await runTransaction(with: nil, block: updateBlock)
    }

    /// Runs a closure that reads and writes documents, as often as the options allow.
    ///
    /// See ``runTransaction(_:completion:)``.
    ///
    /// - Returns: what the closure returned.
    /// - Throws: why it failed.
    public nonisolated(nonsending) func runTransaction(
        with options: TransactionOptions?,
        block: @escaping (Transaction, NSErrorPointer) -> sending Any?
    ) async throws -> sending Any? {
        let maxAttempts = options?.maxAttempts ?? 5
        let result: Result<TransactionRun.Outcome, any Error> = await withCheckedContinuation {
            continuation in
            TransactionRun(self, maxAttempts: maxAttempts, block: block) {
                continuation.resume(returning: $0)
            }.start()
        }
        return try result.get().value
    }
}

/// How a transaction is run.
public final class TransactionOptions {
    /// How often the closure is run at most before the transaction fails with the error of the last
    /// attempt; 5, and at least 1: otherwise the transaction fails with `invalidArgument`.
    public var maxAttempts = 5

    /// The defaults.
    public init() {}
}
