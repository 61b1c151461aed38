public import LarderModel
import LarderSync
import Synchronization

/// A write on its way: first committed locally, then acknowledged by the backend.
///
/// It need not be kept: the write goes on without it.
///
/// ```swift
/// let write = db.document("cities/SF").enqueueUpdateData(["population": 860_000])
/// try await write.committedLocally()  // durable here, visible to every read and listener
/// try await write.acknowledged()  // the backend has it; suspends while offline
/// ```
public final class WriteHandle: Sendable {
    let firestore: Firestore
    private let commit = Stage<Int64?>()
    private let acknowledgement = Stage<Void>()

    init(_ firestore: Firestore) {
        self.firestore = firestore
    }

    /// Suspends until the write is durable on this machine, as the database's durability says.
    ///
    /// - Returns: the id under which ``Firestore/pendingWrites()`` lists it; nil for a batch
    ///   without writes.
    /// - Throws: why the write was refused, such as `invalidArgument` for data beyond Firestore's
    ///   limits, `failedPrecondition` for a terminated database or `resourceExhausted` for a full
    ///   disk; it then left nothing behind. `cancelled` when the task is cancelled; the write goes
    ///   on.
    @discardableResult
    public nonisolated(nonsending) func committedLocally() async throws(LarderError) -> Int64? {
        try await commit.value()
    }

    /// Suspends until the backend has accepted the write; offline that may be never.
    ///
    /// - Throws: why the write was refused here or by the backend, where it then is among
    ///   ``Firestore/deadLetters()``; `cancelled` when it was taken
    ///   back by ``cancel()``, the database was terminated, or the task was cancelled. In the
    ///   last two cases the write stays pending.
    public nonisolated(nonsending) func acknowledged() async throws(LarderError) {
        try await acknowledgement.value()
    }

    /// The id under which ``Firestore/pendingWrites()`` lists the write; nil until it is
    /// committed locally.
    public var batchID: Int64? {
        (try? commit.result?.get()) ?? nil
    }

    /// Takes the write back unless its answer is awaited: its documents become as if it had never
    /// been made.
    ///
    /// Waits until the write is committed locally. An earlier attempt to send it, whose answer was
    /// lost, may have been committed all the same.
    ///
    /// - Returns: whether it was taken back; false where it is not pending any more, or was sent
    ///   and is not answered yet.
    /// - Throws: why the write was refused; `failedPrecondition` for a terminated database;
    ///   `cancelled` when the task is cancelled; what the store reports.
    @discardableResult
    public nonisolated(nonsending) func cancel() async throws(LarderError) -> Bool {
        guard let id = try await commit.value() else { return false }
        return try await firestore.cancelPendingWrite(id)
    }

    /// Tells a completion handler in Apple's form what the backend said.
    func whenAcknowledged(_ completion: @escaping Completion<Void>) {
        acknowledgement.whenFinished(completion)
    }

    /// Calls a closure once the write is durable, or refused.
    func whenCommitted(_ completion: @escaping Completion<Int64?>) {
        commit.whenFinished(completion)
    }

    /// Hands changes to the client.
    func start(_ mutations: Result<[Mutation], LarderError>) {
        do throws(LarderError) {
            let mutations = try mutations.get()
            let client = try firestore.connection.client()
            guard !mutations.isEmpty else {
                commit.finish(.success(nil))
                acknowledgement.finish(.success(()))
                return
            }
            // A write may be pending for long: it must not keep the database from being let go.
            let acknowledgement = acknowledgement
            client.write(
                mutations,
                committed: { self.didCommit($0) },
                acknowledged: { acknowledgement.finish($0) })
        } catch {
            didCommit(.failure(error))
        }
    }

    /// Has the client make a write again that the backend has refused.
    func retry(_ deadLetter: Int64, _ client: Client, _ done: @escaping Completion<Int64?>) {
        let (commit, acknowledgement) = (commit, acknowledgement)
        client.retryDeadLetter(
            deadLetter,
            committed: { result in
                commit.finish(result)
                done(result)
            },
            acknowledged: { acknowledgement.finish($0) })
    }

    private func didCommit(_ result: Result<Int64, LarderError>) {
        commit.finish(result.map(Optional.some))
        if case .failure(let error) = result { acknowledgement.finish(.failure(error)) }
    }
}
