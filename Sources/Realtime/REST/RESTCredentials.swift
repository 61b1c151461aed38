import LarderCore
import LarderRealtimeBackend

/// The user of a request.
enum RESTCredentials {
    /// The user that a request authenticates as; nil for none.
    static func user(
        of request: RESTRequest, _ backend: RealtimeBackend
    ) throws(RESTError) -> RealtimeUser? {
        guard let token = request.token else { return nil }
        switch backend.user(of: token) {
        case .valid(let user):
            guard let text = request.parameter("auth_variable_override") else { return user }
            guard user.isAdministrator else {
                throw RESTError(401, "auth_variable_override needs an administrator's credential")
            }
            return try override(text)
        case .expired: throw RESTError(401, "Auth token is expired")
        case .invalid: throw RESTError(401, "Could not parse auth token.")
        }
    }

    /// The user whom an administrator acts as.
    private static func override(_ text: String) throws(RESTError) -> RealtimeUser? {
        do throws(JSONError) {
            let json = try JSONValue(parsing: Array(text.utf8))
            switch json {
            case .null: return nil
            case .object: return RealtimeUser(authentication: json)
            default: break
            }
        } catch {}
        throw .invalid("auth_variable_override must be a JSON object or null")
    }
}

extension RESTRequest {
    /// The token of the request's user; nil for none.
    package var token: String? {
        if let token = parameter("auth") ?? parameter("access_token") { return token }
        guard let header = header("authorization") else { return nil }
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }
}
