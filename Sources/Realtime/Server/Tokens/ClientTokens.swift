import LarderCore
import LarderHTTP
import LarderRealtimeBackend

/// The tokens that clients of a server authenticate with.
struct ClientTokens: Sendable {
    /// The token of an emulator's administrator.
    private static let owner = "owner"
    /// The prefix of the issuer in Firebase's tokens; the project's ID follows.
    ///
    /// Google's documentation of Firebase Auth, "Verify ID tokens".
    private static let firebaseIssuer = "https://securetoken.google.com/"
    /// How far clocks of issuers may be ahead.
    private static let leeway = 300

    private let secret: BearerToken?
    private let keys: AuthKeys?
    private let clock: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - secret: the token of administrators.
    ///   - keys: the keys that sign tokens of users. Without them and a secret the tokens are those of
    ///     the Firebase emulator: `owner` for administrators, and JSON web tokens, of which the claims
    ///     are read and the signature is not checked.
    init(
        secret: String?, keys: AuthKeys?,
        clock: @escaping @Sendable () -> Timestamp = { .now() }
    ) {
        self.secret = BearerToken(secret)
        self.keys = keys
        self.clock = clock
    }

    /// Replaces the token of administrators.
    ///
    /// - Returns: false if it is the same one, or if there is none.
    func replaceSecret(with token: String) -> Bool { secret?.replace(with: token) ?? false }

    func check(_ token: String) -> RealtimeBackend.TokenDecision {
        if let secret, secret.admits("Bearer \(token)") { return .valid(.administrator) }
        if let keys { return check(token, keys) }
        return secret == nil ? checkUnsigned(token) : .invalid(reason: "the token is wrong")
    }

    private func checkUnsigned(_ text: String) -> RealtimeBackend.TokenDecision {
        if text == Self.owner { return .valid(.administrator) }
        guard let token = WebToken(text), let user = token.user else {
            return .invalid(reason: "the token is neither 'owner' nor a JSON web token of a user")
        }
        if let reason = refusal(ofTimes: token, ["nbf"]) { return .invalid(reason: reason) }
        return .valid(user)
    }

    /// The backend compares the time of expiration with its clock.
    private func check(_ text: String, _ keys: AuthKeys) -> RealtimeBackend.TokenDecision {
        guard let token = WebToken(text) else {
            return .invalid(reason: "the token is no JSON web token")
        }
        guard keys.areSigners(of: token) else {
            return .invalid(reason: "the token is not signed by a key of this server")
        }
        guard token.expiration != nil else {
            return .invalid(reason: "the token does not say when it expires")
        }
        if let reason = refusal(ofTimes: token, ["iat", "nbf"]) { return .invalid(reason: reason) }
        if let reason = refusal(ofIssuer: token, keys.project) { return .invalid(reason: reason) }
        guard let user = token.user else { return .invalid(reason: "the token names no user") }
        return .valid(user)
    }

    /// - Parameter names: the claims of times before which the token is not valid.
    private func refusal(ofTimes token: WebToken, _ names: [String]) -> String? {
        guard token.hasValidTimes else { return "a time of the token is not a number of seconds" }
        let latest = clock().seconds + Int64(Self.leeway)
        let isEarly = names.contains { token.time($0).map { $0.seconds > latest } ?? false }
        return isEarly ? "the token is not valid yet" : nil
    }

    /// Google signs the tokens of all projects with the same keys: those of other projects are
    /// refused, and all of them by a server without a project.
    private func refusal(ofIssuer token: WebToken, _ project: String?) -> String? {
        guard let issuer = token.text("iss"), issuer.hasPrefix(Self.firebaseIssuer) else {
            return nil
        }
        guard let project else { return "the server has no --auth-project" }
        guard issuer == Self.firebaseIssuer + project, token.text("aud") == project else {
            return "the token is of another project than '\(project)'"
        }
        return nil
    }
}
