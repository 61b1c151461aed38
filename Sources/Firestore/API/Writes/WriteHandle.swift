public import LarderModel
import LarderSync
import Logging
import Synchronization

/// A handle to a write, which is first committed locally and then acknowledged by the backend.
///
/// The write proceeds even if the handle is deallocated.
///
/// ```swift
/// let write = db.document("cities/SF").enqueueUpdateData(["population": 860_000])
/// try await write.committedLocally()  // durable here, visible to every read and listener
/// try await write.acknowledged()  // the backend has it; suspends while offline
/// ```
public final class WriteHandle: Sendable {
    let firestore: Firestore
    private let commit = OneShot<Int64?>(errorDomain: LarderError.firestoreDomain)
    private let acknowledgement = OneShot<Void>(errorDomain: LarderError.firestoreDomain)

    init(_ firestore: Firestore) {
        self.firestore = firestore
    }

    /// Suspends until the write is committed locally, with the durability of the database.
    ///
    /// - Returns: the ID of the write in ``Firestore/pendingWrites()``; nil for an empty batch, in a
    ///   local database and for documents that are local only
    ///   (``LarderModel/CacheRule/isLocalOnly``).
    /// - Throws: the reason why nothing was written, such as `invalidArgument` for data beyond
    ///   Firestore's limits, `failedPrecondition` for a terminated database or `resourceExhausted`
    ///   for a full disk; `cancelled` if the task is cancelled, in which case the write proceeds.
    @discardableResult
    public nonisolated(nonsending) func committedLocally() async throws(LarderError) -> Int64? {
        try await commit.value()
    }

    /// Suspends until the backend acknowledges the write, indefinitely while offline; in a local
    /// database until it is committed.
    ///
    /// - Throws: the error of a local failure or of the backend's rejection, after which the write
    ///   is among ``Firestore/deadLetters()``; `cancelled` if the write was cancelled by
    ///   ``cancel()``, the database was terminated or the task was cancelled. In the last two cases
    ///   the write stays pending.
    public nonisolated(nonsending) func acknowledged() async throws(LarderError) {
        try await acknowledgement.value()
    }

    /// The ID of the write in ``Firestore/pendingWrites()``; nil until it is committed locally.
    public var batchID: Int64? {
        (try? commit.result?.get()) ?? nil
    }

    /// Cancels the write and reverts its effect on documents, unless it has been sent and not yet
    /// answered.
    ///
    /// Waits until the write is committed locally. If the response to an earlier attempt was lost,
    /// the backend may have committed the write nevertheless.
    ///
    /// - Returns: true if it was cancelled; false if it is no longer pending, or was sent and has
    ///   not been answered.
    /// - Throws: the error of a local failure; `failedPrecondition` for a terminated database;
    ///   `cancelled` if the task is cancelled; errors of the store.
    @discardableResult
    public nonisolated(nonsending) func cancel() async throws(LarderError) -> Bool {
        guard let id = try await commit.value() else { return false }
        return try await firestore.cancelPendingWrite(id)
    }

    /// Calls a closure with the backend's response.
    func whenAcknowledged(_ completion: @escaping Completion<Void>) {
        acknowledgement.whenFinished(completion)
    }

    /// Calls a closure when the write is committed locally or has failed.
    func whenCommitted(_ completion: @escaping Completion<Int64?>) {
        commit.whenFinished(completion)
    }

    /// Passes changes to the client.
    func start(_ mutations: Result<[Mutation], LarderError>) {
        do throws(LarderError) {
            let mutations = try mutations.get()
            let client = try firestore.connection.client()
            guard !mutations.isEmpty else {
                commit.finish(.success(nil))
                acknowledgement.finish(.success(()))
                return
            }
            // A write can be pending for long and must not keep the database open.
            let (acknowledgement, deliveries) = (acknowledgement, firestore.connection.deliveries)
            let queue = firestore.callbackQueue
            client.write(
                mutations,
                committed: { self.didCommit($0) },
                acknowledged: { [weak client] result in
                    // The listeners that were added before see the write first.
                    let finish: @Sendable () -> Void = {
                        deliveries.wait(on: queue) { acknowledgement.finish(result) }
                    }
                    if let client { client.afterFirstResults(finish) } else { finish() }
                })
        } catch {
            didCommit(.failure(error))
        }
    }

    func retry(_ deadLetter: Int64, _ client: Client, _ done: @escaping Completion<Int64?>) {
        let (commit, acknowledgement) = (commit, acknowledgement)
        client.retryDeadLetter(
            deadLetter,
            committed: { result in
                commit.finish(result.map { $0 == 0 ? nil : $0 })
                done(result)
            },
            acknowledged: { acknowledgement.finish($0) })
    }

    private func didCommit(_ result: Result<Int64, LarderError>) {
        // A write that is local only is not queued.
        commit.finish(result.map { $0 == 0 ? nil : $0 })
        if case .failure(let error) = result { acknowledgement.finish(.failure(error)) }
    }
}

// MARK: - Reporting

extension WriteHandle {
    /// Reports the backend's response to a completion handler, or logs local failures if there is
    /// none.
    func report(to completion: (((any Error)?) -> Void)?) {
        guard let completion else { return logRefusal() }
        whenAcknowledged(firestore.callbackQueue.completion(completion))
    }

    /// Logs a local failure, which is not reported elsewhere.
    func logRefusal() {
        let logger = firestore.logger
        whenCommitted { result in
            guard case .failure(let error) = result, error.kind != .cancelled else { return }
            logger.error("A write failed: \(error.message)")
        }
    }
}
