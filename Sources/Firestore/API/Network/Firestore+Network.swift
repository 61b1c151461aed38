import Dispatch
import LarderModel
import LarderSync

extension Firestore {
    /// Allows the network to be used again, and tries the backend at once.
    ///
    /// Without a backend there is nothing to use it for.
    public func enableNetwork(completion: (((any Error)?) -> Void)? = nil) {
        withClient(callbackQueue.completion(completion)) { $0.enableNetwork($1) }
    }

    /// Allows the network to be used again, and tries the backend at once.
    ///
    /// Without a backend there is nothing to use it for.
    ///
    /// - Throws: `failedPrecondition` for a terminated database; what opening the store reports.
    public nonisolated(nonsending) func enableNetwork() async throws {
        try await answer { done in withClient(done) { $0.enableNetwork($1) } }
    }

    /// Keeps the database from using the network, until ``enableNetwork(completion:)``.
    ///
    /// Listeners and gets answer from the cache meanwhile, and writes stay pending.
    public func disableNetwork(completion: (((any Error)?) -> Void)? = nil) {
        withClient(callbackQueue.completion(completion)) { $0.disableNetwork($1) }
    }

    /// Keeps the database from using the network, until ``enableNetwork()``.
    ///
    /// Listeners and gets answer from the cache meanwhile, and writes stay pending.
    ///
    /// - Throws: `failedPrecondition` for a terminated database; what opening the store reports.
    public nonisolated(nonsending) func disableNetwork() async throws {
        try await answer { done in withClient(done) { $0.disableNetwork($1) } }
    }

    /// Waits until the backend has acknowledged or rejected every write that is pending now,
    /// also from earlier runs of the program.
    ///
    /// Completes at once when there is none; offline it waits. Writes made later do not count.
    public func waitForPendingWrites(completion: @escaping ((any Error)?) -> Void) {
        withClient(callbackQueue.completion(completion)) { $0.waitForPendingWrites($1) }
    }

    /// Waits until the backend has acknowledged or rejected every write that is pending now,
    /// also from earlier runs of the program.
    ///
    /// Returns at once when there is none; offline it waits. Writes made later do not count.
    ///
    /// - Throws: `cancelled` when the task is cancelled, the user is switched or the database is
    ///   terminated meanwhile; `failedPrecondition` for a terminated database; what opening the
    ///   store reports.
    public nonisolated(nonsending) func waitForPendingWrites() async throws {
        let stage = Stage<Void>()
        withClient({ stage.finish($0) }) { $0.waitForPendingWrites($1) }
        try await stage.value()
    }

    /// Removes everything that is stored, pending writes included.
    ///
    /// For a database that is not in use: before anything else is done with it, or after
    /// ``terminate(completion:)``. Otherwise it fails with `failedPrecondition`.
    public func clearPersistence(completion: (((any Error)?) -> Void)? = nil) {
        let done = callbackQueue.completion(completion)
        let connection = connection
        Self.blockingQueue.async {
            done(Result { () throws(LarderError) in try connection.clearPersistence() })
        }
    }

    /// Removes everything that is stored, pending writes included.
    ///
    /// - Throws: `failedPrecondition` for a database that is in use: it must be the first call,
    ///   or come after ``terminate()``.
    public nonisolated(nonsending) func clearPersistence() async throws {
        let connection = connection
        try await answer { done in
            Self.blockingQueue.async {
                done(Result { () throws(LarderError) in try connection.clearPersistence() })
            }
        }
    }

    /// Ends the object: its store is closed and listeners hear nothing more.
    ///
    /// Pending writes stay in the store. Every later call but ``clearPersistence(completion:)``
    /// fails with `failedPrecondition`, and removing a listener does nothing; a shared database
    /// is there again, as a new object, from ``firestore()``.
    public func terminate(completion: (((any Error)?) -> Void)? = nil) {
        end(callbackQueue.completion(completion))
    }

    /// Ends the object: its store is closed and listeners hear nothing more.
    ///
    /// Pending writes stay in the store. Every later call but ``clearPersistence()`` fails with
    /// `failedPrecondition`, and removing a listener does nothing; a shared database is there
    /// again, as a new object, from ``firestore()``. A second call succeeds.
    ///
    /// - Throws: what closing the store reports.
    public nonisolated(nonsending) func terminate() async throws {
        try await answer { end($0) }
    }

    private func end(_ done: @escaping Completion<Void>) {
        // Only then may another object open the same store.
        connection.terminate { [self] result in
            leaveShared()
            done(result)
        }
    }
}
