/// What proves to a host who asks; a secret, which its descriptions do not tell.
public struct AccessToken: Sendable {
    /// The token itself, as it stands behind `Bearer` in a request.
    let secret: String

    /// How long it is valid from when it was given; nil for ever.
    public let lifetime: Duration?

    /// A token.
    ///
    /// - Parameters:
    ///   - token: its text.
    ///   - lifetime: how long it is valid from now on; nil for ever.
    public init(_ token: String, lifetime: Duration? = nil) {
        secret = token
        self.lifetime = lifetime
    }
}

extension AccessToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// That it is a token, and not which.
    public var description: String { "AccessToken(hidden)" }

    /// That it is a token, and not which.
    public var debugDescription: String { description }

    /// Nothing: what dumps values does not see the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
