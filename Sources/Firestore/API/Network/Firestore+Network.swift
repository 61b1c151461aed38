import Dispatch
import LarderDocumentStore
import LarderModel
import LarderSync

extension Firestore {
    /// Re-enables the network and connects to the backend immediately.
    ///
    /// Has no effect without a backend.
    public func enableNetwork(completion: (((any Error)?) -> Void)? = nil) {
        withClient(self.completion(of: "enableNetwork", completion)) { $0.enableNetwork($1) }
    }

    /// Re-enables the network and connects to the backend immediately.
    ///
    /// Has no effect without a backend.
    ///
    /// - Throws: `failedPrecondition` for a terminated database; errors of opening the store.
    public nonisolated(nonsending) func enableNetwork() async throws {
        try await answer { done in withClient(done) { $0.enableNetwork($1) } }
    }

    /// Disables the network until ``enableNetwork(completion:)`` is called.
    ///
    /// Meanwhile, listeners and gets are served from the cache, and writes stay pending.
    public func disableNetwork(completion: (((any Error)?) -> Void)? = nil) {
        withClient(self.completion(of: "disableNetwork", completion)) { $0.disableNetwork($1) }
    }

    /// Disables the network until ``enableNetwork()`` is called.
    ///
    /// Meanwhile, listeners and gets are served from the cache, and writes stay pending.
    ///
    /// - Throws: `failedPrecondition` for a terminated database; errors of opening the store.
    public nonisolated(nonsending) func disableNetwork() async throws {
        try await answer { done in withClient(done) { $0.disableNetwork($1) } }
    }

    /// Waits until the backend has acknowledged or rejected all writes that are pending now,
    /// including those of earlier runs of the program.
    ///
    /// Completes immediately if there are none, and waits while offline. Ignores writes made later.
    public func waitForPendingWrites(completion: @escaping ((any Error)?) -> Void) {
        withClient(callbackQueue.completion(completion)) { $0.waitForPendingWrites($1) }
    }

    /// Waits until the backend has acknowledged or rejected all writes that are pending now,
    /// including those of earlier runs of the program.
    ///
    /// Returns immediately if there are none, and waits while offline. Ignores writes made later.
    ///
    /// - Throws: `cancelled` if the task is cancelled, the user is switched or the database is
    ///   terminated while waiting; `failedPrecondition` for a terminated database; errors of
    ///   opening the store.
    public nonisolated(nonsending) func waitForPendingWrites() async throws {
        let oneShot = OneShot<Void>(errorDomain: LarderError.firestoreDomain)
        withClient({ oneShot.finish($0) }) { $0.waitForPendingWrites($1) }
        try await oneShot.value()
    }

    /// Deletes everything that is stored, including pending writes.
    ///
    /// Call it before the first use of the database or after ``terminate(completion:)``; otherwise
    /// it fails with `failedPrecondition`.
    public func clearPersistence(completion: (((any Error)?) -> Void)? = nil) {
        let done = self.completion(of: "clearPersistence", completion)
        let connection = connection
        Self.blockingQueue.async {
            done(Result { () throws(LarderError) in try connection.clearPersistence() })
        }
    }

    /// Deletes everything that is stored, including pending writes.
    ///
    /// - Throws: `failedPrecondition` for a database in use: call it before the first use or after
    ///   ``terminate()``.
    public nonisolated(nonsending) func clearPersistence() async throws {
        let connection = connection
        try await answer { done in
            Self.blockingQueue.async {
                done(Result { () throws(LarderError) in try connection.clearPersistence() })
            }
        }
    }

    /// Terminates the instance: closes its store and ends all listeners.
    ///
    /// Pending writes stay in the store. All later calls except ``clearPersistence(completion:)``
    /// fail with `failedPrecondition`, and removing a listener has no effect; for a shared
    /// database, ``firestore()`` returns a new object.
    public func terminate(completion: (((any Error)?) -> Void)? = nil) {
        end(self.completion(of: "terminate", completion))
    }

    /// Terminates the instance: closes its store and ends all listeners.
    ///
    /// Pending writes stay in the store. All later calls except ``clearPersistence()`` fail with
    /// `failedPrecondition`, and removing a listener has no effect; for a shared database,
    /// ``firestore()`` returns a new object. A second call succeeds.
    ///
    /// - Throws: errors of closing the store.
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

// MARK: - Users

extension Firestore {
    /// The current user, on whose behalf requests are made and whose pending writes are visible;
    /// nil if no user is signed in.
    public var userID: String? {
        let id = connection.existingClient?.user.string ?? connection.configuration.userID ?? ""
        return id.isEmpty ? nil : id
    }

    /// Switches to another user: requests are made on behalf of this user, and this user's pending
    /// writes become visible.
    ///
    /// Each user has separate pending writes and dead letters. Those of the previous user stay in
    /// the store, neither visible nor sent, until that user returns. Documents read from the
    /// backend stay in the cache and are shared by all users. Listeners are notified of the
    /// differences; waiting for pending writes fails with `cancelled`. Switching to the same user
    /// signals new credentials: connections to the backend are reopened.
    ///
    /// The ID is not authenticated; authentication is up to the connection to the backend.
    ///
    /// - Parameters:
    ///   - userID: the user's ID of at most 256 bytes; nil for no signed-in user.
    ///   - completion: called on the callback queue.
    public func switchUser(to userID: String?, completion: (((any Error)?) -> Void)? = nil) {
        switchUser(to: userID, self.completion(of: "switchUser", completion))
    }

    /// Switches to another user: requests are made on behalf of this user, and this user's pending
    /// writes become visible.
    ///
    /// See ``switchUser(to:completion:)``.
    ///
    /// - Throws: `invalidArgument` for an ID that is too long; `failedPrecondition` for a
    ///   terminated database.
    public nonisolated(nonsending) func switchUser(to userID: String?) async throws {
        try await answer { switchUser(to: userID, $0) }
    }

    private func switchUser(to userID: String?, _ done: @escaping Completion<Void>) {
        withClient(done) { client, done in
            do throws(LarderError) {
                client.setUser(try UserID(validating: userID), completion: done)
            } catch {
                done(.failure(error))
            }
        }
    }
}

extension UserID {
    private static let maxBytes = 256

    init(validating id: String?) throws(LarderError) {
        guard let id else {
            self = .unauthenticated
            return
        }
        guard (1...Self.maxBytes).contains(id.utf8.count) else {
            throw .invalidArgument(
                "The user ID has \(id.utf8.count) bytes; 1 to \(Self.maxBytes) are allowed.")
        }
        self.init(id)
    }
}
