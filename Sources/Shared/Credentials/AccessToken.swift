/// A token that authenticates a user to a host; a secret, which its descriptions omit.
public struct AccessToken: Sendable {
    /// The token itself, which follows `Bearer` in a request.
    package let secret: String

    /// How long it is valid from its creation; nil without limit.
    public let lifetime: Duration?

    /// A token.
    ///
    /// - Parameters:
    ///   - token: its text.
    ///   - lifetime: how long it is valid from now on; nil without limit.
    public init(_ token: String, lifetime: Duration? = nil) {
        secret = token
        self.lifetime = lifetime
    }
}

extension AccessToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name without the token.
    public var description: String { "AccessToken(hidden)" }

    /// The type's name without the token.
    public var debugDescription: String { description }

    /// Empty, so that dumps do not show the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

// MARK: - Providers

/// Provides the tokens that authenticate a connection's users.
///
/// A connection caches tokens. It requests another before a token expires and after the host has
/// refused one, once for all calls that wait for the same user.
public protocol AccessTokenProvider: Sendable {
    /// A token for a user.
    ///
    /// - Parameters:
    ///   - userID: the signed-in user of a database, see `Firestore.switchUser(to:)`; nil for none.
    ///   - isForced: whether the last token was refused, so that a cached one must not be returned.
    /// - Returns: the token; nil to connect without one.
    /// - Throws: any error; waiting calls fail with `unauthenticated`, streams retry: no write is
    ///   lost.
    func accessToken(for userID: String?, forcingRefresh isForced: Bool) async throws
        -> AccessToken?
}

/// A provider that calls a closure.
package struct ClosureTokenProvider: AccessTokenProvider {
    private let body: @Sendable (_ userID: String?, _ isForced: Bool) async throws -> AccessToken?

    package init(
        body:
            @escaping @Sendable (_ userID: String?, _ isForced: Bool) async throws ->
            AccessToken?
    ) {
        self.body = body
    }

    package func accessToken(for userID: String?, forcingRefresh isForced: Bool) async throws
        -> AccessToken?
    {
        try await body(userID, isForced)
    }
}
