public import Foundation
import LarderModel
import LarderSync

extension Firestore {
    /// Runs a transaction: a closure that reads and writes documents atomically.
    ///
    /// With a backend, the transaction reads and commits there: it sees the server's documents
    /// without pending writes, and fails with `unavailable` if the server cannot be reached.
    /// Listeners receive its writes from the server. Without a backend, it operates on the local
    /// view of the documents, and its writes become pending like any others.
    ///
    /// The closure runs on a thread of the database. It is retried, up to five attempts in total,
    /// if a document that it read was changed before the commit or, with exponential backoff, if
    /// the server could not be reached. It must have no other side effects and must not wait for
    /// another transaction. Assigning an error to its second parameter ends the transaction with
    /// that error, except that errors of the server thrown by ``Transaction/getDocument(_:)`` lead
    /// to a retry. There is no retry after a read or commit that the server has not answered within
    /// ``FirestoreConfiguration/serverWait-swift.property``.
    ///
    /// - Parameters:
    ///   - updateBlock: the closure, which reads before it writes; its result is passed to the
    ///     handler.
    ///   - completion: called on the callback queue after the commit or with an error: that of the
    ///     closure, that of the last attempt, or `invalidArgument` for invalid data. After an error
    ///     nothing was written, unless the response to the last commit was lost (`unavailable`,
    ///     `deadlineExceeded`, `unknown`, `internal`), in which case the writes may have been
    ///     committed.
    public func runTransaction(
        _ updateBlock: @escaping (Transaction, NSErrorPointer) -> Any?,
        completion: @escaping (Any?, (any Error)?) -> Void
    ) {
        runTransaction(with: nil, block: updateBlock, completion: completion)
    }

    /// Runs a transaction with options.
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

    /// Runs a transaction: a closure that reads and writes documents atomically.
    ///
    /// See ``runTransaction(_:completion:)``.
    ///
    /// - Returns: the result of the closure.
    /// - Throws: the error that the transaction failed with.
    public nonisolated(nonsending) func runTransaction(
        _ updateBlock: @escaping (Transaction, NSErrorPointer) -> sending Any?
    ) async throws -> sending Any? {
        try await runTransaction(with: nil, block: updateBlock)
    }

    /// Runs a transaction with options.
    ///
    /// See ``runTransaction(_:completion:)``.
    ///
    /// - Returns: the result of the closure.
    /// - Throws: the error that the transaction failed with.
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

/// The options of a transaction.
public final class TransactionOptions: NSObject, NSCopying {
    /// The maximum number of attempts, after which the transaction fails with the error of the last
    /// one; 5 by default, at least 1: otherwise the transaction fails with `invalidArgument`.
    public var maxAttempts = 5

    /// Creates the default options.
    public override init() {}

    /// A copy with equal values.
    public func copy(with zone: NSZone? = nil) -> Any {
        let options = TransactionOptions()
        options.maxAttempts = maxAttempts
        return options
    }

    /// True if the other object is of this class and its values are equal.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? TransactionOptions)?.maxAttempts == maxAttempts
    }

    /// Hashes the values.
    public override var hash: Int { maxAttempts.hashValue }
}
