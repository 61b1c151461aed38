import LarderCore
import LarderRealtimeModel
import LarderRealtimeSync
import LarderRuntime
import Logging

extension DatabaseReference {
    /// Changes the data of the location depending on what it is.
    ///
    /// The block is called at once, with what is known of the data, often `nil` at first; its
    /// result is shown to observers, and written if the server's data is what the block was given.
    /// Otherwise the block is called again with the server's data, up to 25 times. Offline, the
    /// transaction waits like other writes, also over a restart; see
    /// ``resumeTransactions(_:)``. One that was on its way when the connection was lost learns from
    /// `larderd` and backends of Larder whether it was applied; with other servers it fails, and may
    /// have been.
    ///
    /// The block runs on the database's own queue. It must have no other side effects and must not
    /// wait for another operation of the database.
    public func runTransactionBlock(
        _ block: @escaping (MutableData) -> TransactionResult
    ) {
        run(block, localEvents: true, nil)
    }

    /// Changes the data of the location depending on what it is.
    ///
    /// See the form without a completion block.
    ///
    /// - Parameters:
    ///   - block: changes the data or aborts.
    ///   - completionBlock: called on the callback queue with an error if the transaction failed,
    ///     whether the data was written, and the data: what was written, or what was found.
    public func runTransactionBlock(
        _ block: @escaping (MutableData) -> TransactionResult,
        andCompletionBlock completionBlock: @escaping ((any Error)?, Bool, DataSnapshot?) -> Void
    ) {
        run(block, localEvents: true, completionBlock)
    }

    /// Changes the data of the location depending on what it is.
    ///
    /// - Parameters:
    ///   - block: changes the data or aborts.
    ///   - completionBlock: called on the callback queue; see
    ///     ``runTransactionBlock(_:andCompletionBlock:)``.
    ///   - localEvents: false if observers are to see only what the server has accepted.
    public func runTransactionBlock(
        _ block: @escaping (MutableData) -> TransactionResult,
        andCompletionBlock completionBlock: (((any Error)?, Bool, DataSnapshot?) -> Void)?,
        withLocalEvents localEvents: Bool
    ) {
        run(block, localEvents: localEvents, completionBlock)
    }

    /// Changes the data of the location depending on what it is, and suspends until the
    /// transaction has ended, indefinitely while offline.
    ///
    /// See ``runTransactionBlock(_:andCompletionBlock:)``.
    ///
    /// - Returns: whether the data was written, and the data: what was written, or what was found.
    /// - Throws: a ``DatabaseError``; `writeCanceled` if the task is cancelled, in which case the
    ///   transaction goes on.
    @discardableResult
    public nonisolated(nonsending) func runTransactionBlock(
        _ block: @escaping (MutableData) -> TransactionResult
    ) async throws -> (Bool, DataSnapshot) {
        let done = OneShot<TransactionOutcome>(errorDomain: LarderError.realtimeDomain)
        run(Transferred(block), localEvents: true) { done.finish($0) }
        do throws(LarderError) {
            let outcome = try await done.value()
            return (outcome.isCommitted, snapshot(of: outcome))
        } catch {
            throw DatabaseError(error)
        }
    }

    /// Takes over the transactions of the location that an earlier run of the program has left.
    ///
    /// Such a transaction is shown to observers and sent with the data that it was based on. If the
    /// server's data is another, only its block can decide what to write; register it here, for
    /// each location with transactions, soon after the start.
    /// ``DatabaseConfiguration/transactionHandlerWait`` limits the wait, after which the
    /// transaction becomes a dead letter.
    public func resumeTransactions(_ block: @escaping (MutableData) -> TransactionResult) {
        do throws(LarderError) {
            let path = try path.get()
            try owner.connection.client().resumeTransactions(
                at: path, Self.update(Transferred(block), at: path))
        } catch {
            owner.logger.error("resumeTransactions failed: \(error.message)")
        }
    }

    // MARK: Running

    private func run(
        _ block: @escaping (MutableData) -> TransactionResult, localEvents: Bool,
        _ completionBlock: (((any Error)?, Bool, DataSnapshot?) -> Void)?
    ) {
        let completionBlock = Transferred(completionBlock)
        let (callbacks, logger) = (owner.callbacks, owner.logger)
        run(Transferred(block), localEvents: localEvents) { [self] result in
            callbacks.add { [self] in
                switch result {
                case .success(let outcome):
                    completionBlock.value?(nil, outcome.isCommitted, snapshot(of: outcome))
                case .failure(let error):
                    if completionBlock.value == nil {
                        logger.error("A transaction failed: \(error.message)")
                    }
                    completionBlock.value?(DatabaseError(error), false, nil)
                }
            }
        }
    }

    private func run(
        _ block: Transferred<(MutableData) -> TransactionResult>, localEvents: Bool,
        _ done: @escaping Completion<TransactionOutcome>
    ) {
        do throws(LarderError) {
            let path = try path.get()
            try path.checkWritable()
            let update = Self.update(block, at: path)
            owner.withClient(done) {
                $0.runTransaction(
                    at: path, localEvents: localEvents, update, completion: $1)
            }
        } catch {
            done(.failure(error))
        }
    }

    private static func update(
        _ block: Transferred<(MutableData) -> TransactionResult>, at path: TreePath
    ) -> TransactionUpdate {
        { node throws(LarderError) in
            guard let result = block.value(MutableData(node, at: path)).result else { return nil }
            return try result.get()
        }
    }

    private func snapshot(of outcome: TransactionOutcome) -> DataSnapshot {
        DataSnapshot(
            self, outcome.node, by: .priority,
            DataSnapshot.Metadata(
                isComplete: true, isFromCache: !outcome.isCommitted, hasPendingWrites: false))
    }
}
