import LarderModel
import LarderStorage
import LarderSync

extension Firestore {
    /// The user as whom the backend is asked, and whose pending writes are made and seen; nil for
    /// nobody who signed in.
    public var userID: String? {
        let id = connection.existingClient?.user.string ?? connection.configuration.userID ?? ""
        return id.isEmpty ? nil : id
    }

    /// Asks the backend as another user from now on, and makes and shows that user's writes.
    ///
    /// Each user has pending writes and dead letters of their own. Those of the user before stay
    /// in the store until that user comes back: what they make of documents is not seen meanwhile,
    /// and they are not sent. What was read from the backend stays in the cache, for all users.
    /// Listeners hear of the difference; who waits for pending writes hears `cancelled`. The same
    /// user again means new credentials: the backend is asked anew.
    ///
    /// Names a user, and proves nothing: what a backend takes as proof is its connection's
    /// business.
    ///
    /// - Parameters:
    ///   - userID: at most 256 bytes; nil for nobody who signed in.
    ///   - completion: called on the callback queue.
    public func switchUser(to userID: String?, completion: (((any Error)?) -> Void)? = nil) {
        switchUser(to: userID, callbackQueue.completion(completion))
    }

    /// Asks the backend as another user from now on, and makes and shows that user's writes.
    ///
    /// See ``switchUser(to:completion:)``.
    ///
    /// - Throws: `invalidArgument` for an id that is too long; `failedPrecondition` for a
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

    /// A user by an id as applications name it.
    init(validating id: String?) throws(LarderError) {
        guard let id else {
            self = .unauthenticated
            return
        }
        guard (1...Self.maxBytes).contains(id.utf8.count) else {
            throw .invalidArgument(
                "A user's id has 1 to \(Self.maxBytes) bytes; this one has \(id.utf8.count).")
        }
        self.init(id)
    }
}
