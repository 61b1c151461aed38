import LarderCore
import LarderRealtimeBackend
import LarderRealtimeRemote

/// The user of a request.
enum RESTCredentials {
    private static let parameter = ActingUser.parameter

    /// The user that a request authenticates as; nil for none.
    ///
    /// Fails for a request that asks for fewer rights in a way that is not valid, or has several
    /// tokens.
    static func user(
        of request: RESTRequest, _ backend: RealtimeBackend
    ) throws(RESTError) -> RealtimeUser? {
        let actingUser = try actingUser(of: request)
        guard let token = request.token else {
            guard actingUser == nil else {
                throw RESTError(401, "\(parameter) requires an administrator's credential")
            }
            return nil
        }
        let tokens = request.parameters.filter { ["auth", "access_token"].contains($0.name) }
        guard tokens.allSatisfy({ $0.value == token }) else {
            throw .invalid("the request has several tokens")
        }
        switch backend.user(of: token) {
        case .valid(let user):
            switch user.acting(as: actingUser) {
            case .success(let user): return user
            case .failure(let error): throw RESTError(401, "\(parameter): \(error.message)")
            }
        case .expired: throw RESTError(401, "Auth token is expired")
        case .invalid: throw RESTError(401, "Could not parse auth token.")
        }
    }

    /// The user whom an administrator acts as; nil if the request names none.
    private static func actingUser(of request: RESTRequest) throws(RESTError) -> ActingUser? {
        for (name, _) in request.parameters where ActingUser.messageMembers.contains(name) {
            throw .invalid("'\(name)' is a member of 'gauth'; use \(parameter)")
        }
        let texts = request.parameters.filter { $0.name == parameter }.map(\.value)
        guard let text = texts.first else { return nil }
        guard texts.count == 1 else { throw .invalid("\(parameter) must occur once") }
        guard let json = try? JSONValue(parsing: Array(text.utf8)),
            let user = ActingUser(json: json)
        else { throw .invalid("\(parameter) must be a JSON object or null") }
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
