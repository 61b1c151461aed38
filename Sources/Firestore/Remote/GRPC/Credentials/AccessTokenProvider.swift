/// Gives the tokens that a connection proves its users with.
///
/// A connection asks again before a token ends, and after the host has refused one. It keeps what
/// it was given meanwhile, and asks once for all that wait for the same user.
public protocol AccessTokenProvider: Sendable {
    /// A token for a user.
    ///
    /// - Parameters:
    ///   - userID: the user as whom a database asks, see `Firestore.switchUser(to:)`; nil for
    ///     nobody who signed in.
    ///   - isForced: whether the last token was refused, so that one that was kept will not do.
    /// - Returns: the token; nil to ask without one.
    /// - Throws: anything; what waits for the token fails with `unauthenticated`, and is tried again
    ///   where it is a stream: no write is lost.
    func accessToken(for userID: String?, forcingRefresh isForced: Bool) async throws
        -> AccessToken?
}

/// A provider made of a closure.
struct ClosureTokenProvider: AccessTokenProvider {
    let body: @Sendable (_ userID: String?, _ isForced: Bool) async throws -> AccessToken?

    func accessToken(for userID: String?, forcingRefresh isForced: Bool) async throws
        -> AccessToken?
    {
        try await body(userID, isForced)
    }
}
