public import LarderRealtimeModel
package import LarderRealtimeRemote

/// A user whose token a backend accepted.
public struct RealtimeUser: Sendable {
    /// The user's ID.
    public let id: String
    /// When the token expires; nil if it does not.
    public let expiration: Timestamp?
    /// True for a user whom neither security rules nor other checks restrict.
    public let isAdministrator: Bool
    /// What security rules see as `auth`.
    package let authentication: JSONValue

    private init(
        _ id: String, _ expiration: Timestamp?, isAdministrator: Bool = false,
        _ authentication: JSONValue
    ) {
        self.id = id
        self.expiration = expiration
        self.isAdministrator = isAdministrator
        self.authentication = authentication
    }

    /// A user of whom security rules see the ID alone.
    public init(id: String, expiration: Timestamp? = nil) {
        self.init(id, expiration, .object([JSONMember("uid", .string(id))]))
    }

    /// A user of whom security rules see the ID, the provider and the claims of the token, as
    /// `auth.uid`, `auth.provider` and `auth.token`.
    ///
    /// - Parameters:
    ///   - provider: how the user signed in, such as "password"; "custom" for tokens of a server.
    ///   - claims: the claims of the token, as the text of a JSON object.
    /// - Throws: `invalidArgument` if the claims are no JSON object.
    public init(
        id: String, provider: String = "custom", claims: String, expiration: Timestamp? = nil
    ) throws(LarderError) {
        let token: JSONValue
        do throws(JSONError) {
            token = try JSONValue(parsing: Array(claims.utf8))
        } catch {
            throw LarderError(
                realtime: .invalidArgument, "the claims of a token are no JSON: \(error.reason)")
        }
        guard case .object = token else {
            throw LarderError(
                realtime: .invalidArgument, "the claims of a token are no JSON object")
        }
        self.init(
            id, expiration,
            .object([
                JSONMember("uid", .string(id)), JSONMember("provider", .string(provider)),
                JSONMember("token", token),
            ]))
    }

    /// A user of whom security rules see what an administrator has chosen.
    init(authentication: JSONValue, expiration: Timestamp? = nil) {
        var id = ""
        if case .string(let text)? = authentication["uid"] { id = text }
        self.init(id, expiration, authentication)
    }

    /// The user with whose rights a client with this user's token acts; nil for one that is not
    /// signed in.
    ///
    /// A failure unless the user is an administrator.
    package func acting(as user: ActingUser?) -> Result<RealtimeUser?, LarderError> {
        guard let user else { return .success(self) }
        guard isAdministrator else {
            return .failure(
                LarderError(
                    realtime: .permissionDenied,
                    "acting as another user requires an administrator's credential"))
        }
        switch user {
        case .unauthenticated: return .success(nil)
        case .authentication(let json):
            return .success(RealtimeUser(authentication: json, expiration: expiration))
        }
    }

    /// The owner of the databases.
    public static let administrator = RealtimeUser("", nil, isAdministrator: true, .null)
}

extension RealtimeUser: Hashable {
    /// Equality of all that security rules see.
    public static func == (left: RealtimeUser, right: RealtimeUser) -> Bool {
        left.id == right.id && left.expiration == right.expiration
            && left.isAdministrator == right.isAdministrator
            && left.authentication == right.authentication
    }

    /// Feeds the ID and the expiration to a hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(expiration)
    }
}
