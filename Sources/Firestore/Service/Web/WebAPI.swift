import GRPCCore
import LarderHTTP
import LarderModel

/// Everything that a server of Firestore offers over HTTP besides gRPC.
///
/// | path | |
/// |---|---|
/// | `/v1/projects/…` | Firestore's RPCs as JSON: ``JSONAPI`` |
/// | `/`, `/health`, `/metrics`, `/emulator/v1/…` | the operator's endpoints: ``AdminAPI`` |
///
/// The paths of WebChannel, `/google.firestore.v1.…`, are not in use.
struct WebAPI: HTTPService {
    let admin: AdminAPI
    let json: JSONAPI
    let token: BearerToken?
    /// Is told of refused tokens; nil for nothing.
    var monitor: AccessMonitor?

    private static let tokenReason = "the bearer token is missing or wrong"

    var methods: String { "GET, POST, PATCH, DELETE" }

    func serves(_ request: HTTPRequest) -> Bool {
        let path = request.path
        return path.hasPrefix(JSONPath.prefix) || AdminAPI.serves(path)
    }

    func respond(to request: HTTPRequest, _ reply: any HTTPReply) async {
        let isAuthorized = token?.admits(request[field: "authorization"]) ?? true
        guard request.path.hasPrefix(JSONPath.prefix) else {
            let response = await admin.response(to: request, isAuthorized: isAuthorized)
            if response.status == 401 { noteRefusal(over: .http) }
            return await reply.send(response)
        }
        guard isAuthorized else {
            noteRefusal(over: .json)
            return await reply.send(
                HTTPResponse(RPCError(code: .unauthenticated, message: Self.tokenReason)))
        }
        await json.respond(to: request, reply)
    }

    private func noteRefusal(over transport: AccessMonitor.Transport) {
        monitor?.note(
            .token, Self.tokenReason, over: transport,
            address: CallOrigin.current?.connection.address)
    }
}
