import LarderCore
import LarderRealtimeBackend
import LarderRealtimeRemote

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
            switch user.acting(as: try actingUser(text)) {
            case .success(let user): return user
            case .failure(let error):
                throw RESTError(401, "auth_variable_override: \(error.message)")
            }
        case .expired: throw RESTError(401, "Auth token is expired")
        case .invalid: throw RESTError(401, "Could not parse auth token.")
        }
    }

    /// The user whom an administrator acts as.
    private static func actingUser(_ text: String) throws(RESTError) -> ActingUser {
        guard let json = try? JSONValue(parsing: Array(text.utf8)),
            let user = ActingUser(json: json)
        else { throw .invalid("auth_variable_override must be a JSON object or null") }
        return user
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
