import LarderCore
import LarderRealtimeModel
import LarderRealtimeSync
import LarderRuntime
import Logging

/// A handle to a write, which is first committed locally and then acknowledged by the server.
///
/// The write proceeds even if the handle is deallocated.
///
/// ```swift
/// let write = scores.child("ada").enqueueSetValue(42)
/// try await write.committedLocally()  // durable here, visible to every observer
/// try await write.acknowledged()  // the server has it; suspends while offline
/// ```
public final class DatabaseWrite: Sendable {
    let database: Database
    private let commit = OneShot<WriteID?>(errorDomain: LarderError.realtimeDomain)
    private let acknowledgement = OneShot<Void>(errorDomain: LarderError.realtimeDomain)

    init(_ database: Database) {
        self.database = database
    }

    /// Suspends until the write is committed locally, with the durability of the database, and
    /// observers' events are on their way.
    ///
    /// - Returns: the ID of the write in ``Database/pendingWrites()``; nil for an update without
    ///   values and for a write of a local-only location, which is not queued.
    /// - Throws: the reason why nothing was written, such as `invalidArgument` for a value that
    ///   cannot be stored, `failedPrecondition` for a closed database or `resourceExhausted` for a
    ///   full disk; `cancelled` if the task is cancelled, in which case the write proceeds.
    @discardableResult
    public nonisolated(nonsending) func committedLocally() async throws(DatabaseError) -> Int64? {
        do throws(LarderError) {
            return try await commit.value()?.rawValue
        } catch {
            throw DatabaseError(error)
        }
    }

    /// Suspends until the server acknowledges the write, indefinitely while offline.
    ///
    /// - Throws: the error of a local failure or of the server's refusal, after which the write is
    ///   among ``Database/deadLetters()``; `writeCanceled` if the write was cancelled, the database
    ///   was closed or the task was cancelled. In the last two cases the write stays pending.
    public nonisolated(nonsending) func acknowledged() async throws(DatabaseError) {
        do throws(LarderError) {
            try await acknowledgement.value()
        } catch {
            throw DatabaseError(error)
        }
    }

    /// The ID of the write in ``Database/pendingWrites()``; nil until it is committed locally, and
    /// for a write that is not queued.
    public var id: Int64? {
        ((try? commit.result?.get()) ?? nil)?.rawValue
    }

    /// Cancels the write and reverts its effect, unless it has been sent and not yet answered.
    ///
    /// Waits until the write is committed locally. If the response to an earlier attempt was lost,
    /// the server may have applied the write nevertheless.
    ///
    /// - Returns: true if it was cancelled; false if it is no longer pending, or was sent and has
    ///   not been answered.
    @discardableResult
    public nonisolated(nonsending) func cancel() async throws(DatabaseError) -> Bool {
        guard let id = try await committedLocally() else { return false }
        return try await database.cancelPendingWrite(id)
    }

    // MARK: Progress

    /// Passes a change to the client.
    ///
    /// - Parameter deadLetter: a refused write that this one replaces.
    func start(
        _ change: Result<WriteRequest, LarderError>, insteadOf deadLetter: WriteID? = nil
    ) {
        do throws(LarderError) {
            let change = try change.get()
            let client = try database.connection.client()
            guard !change.isEmpty else {
                commit.finish(.success(nil))
                acknowledgement.finish(.success(()))
                return
            }
            // A write may be pending for long: it must not keep the database alive.
            let (commit, acknowledgement) = (commit, acknowledgement)
            client.write(
                change, insteadOf: deadLetter,
                committed: { result in
                    commit.finish(result)
                    if case .failure(let error) = result {
                        acknowledgement.finish(.failure(error))
                    }
                },
                acknowledged: { acknowledgement.finish($0) })
        } catch {
            commit.finish(.failure(error))
            acknowledgement.finish(.failure(error))
        }
    }

    /// Tells a completion block the server's answer, or logs a local failure if there is none.
    func report(
        _ ref: DatabaseReference, to block: (((any Error)?, DatabaseReference) -> Void)?
    ) {
        guard let block else {
            logRefusal()
            return
        }
        let transferred = Transferred(block)
        let callbacks = database.callbacks
        acknowledgement.whenFinished { result in
            callbacks.add { transferred.value(result.databaseError, ref) }
        }
    }

    /// Logs a local failure, which is not reported elsewhere.
    func logRefusal() {
        let logger = database.logger
        commit.whenFinished { result in
            guard case .failure(let error) = result, error.kind != .cancelled else { return }
            logger.error("A write failed: \(error.message)")
        }
    }
}
