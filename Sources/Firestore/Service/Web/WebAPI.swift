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

    var methods: String { "GET, POST, PATCH, DELETE" }

    func serves(_ request: HTTPRequest) -> Bool {
        let path = request.path
        return path.hasPrefix(JSONPath.prefix) || AdminAPI.serves(path)
    }

    func respond(to request: HTTPRequest, _ reply: any HTTPReply) async {
        let isAuthorized = token?.admits(request[field: "authorization"]) ?? true
        guard request.path.hasPrefix(JSONPath.prefix) else {
            return await reply.send(
                await admin.response(to: request, isAuthorized: isAuthorized))
        }
        guard isAuthorized else {
            return await reply.send(
                HTTPResponse(
                    RPCError(
                        code: .unauthenticated, message: "the bearer token is missing or wrong")))
        }
        await json.respond(to: request, reply)
    }
}
