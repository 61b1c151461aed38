import GRPCCore
import LarderHTTP
import LarderModel

/// Everything that a server offers over HTTP besides gRPC.
///
/// | path | |
/// |---|---|
/// | `/v1/projects/…` | Firestore's RPCs as JSON: ``JSONAPI`` |
/// | any other | the operator's endpoints: ``AdminAPI`` |
///
/// A request that may come from a foreign web page is refused with 403, see ``LarderHTTP/WebAccess``;
/// pages of allowed hosts may read responses (CORS). The paths of WebChannel, `/google.firestore.v1.…`,
/// are not in use.
struct WebAPI: Sendable {
    let admin: AdminAPI
    let json: JSONAPI
    let token: BearerToken?
    let access: WebAccess

    private static let methods = "GET, POST, PATCH, DELETE"

    func respond(to request: HTTPRequest, _ reply: any HTTPReply) async {
        if let reason = access.refusal(of: request.web) {
            return await reply.send(AdminAPI.failure(403, reason))
        }
        guard let origin = request[field: "origin"] else { return await serve(request, reply) }
        let reply = ReplyToPage(reply: reply, origin: origin)
        guard request.method == "OPTIONS" else { return await serve(request, reply) }
        // A preflight request has no token.
        await reply.send(preflight(request))
    }

    private func serve(_ request: HTTPRequest, _ reply: any HTTPReply) async {
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

    /// The response to a browser that asks whether a page may send a request.
    private func preflight(_ request: HTTPRequest) -> HTTPResponse {
        var response = HTTPResponse(status: 204, body: [])
        response.head.fields = [
            ("access-control-allow-methods", Self.methods),
            ("access-control-max-age", "3600"),
        ]
        if let names = request[field: "access-control-request-headers"] {
            response.head.fields.append(("access-control-allow-headers", names))
        }
        return response
    }
}

/// A reply that a web page of an admitted origin may read.
private struct ReplyToPage: HTTPReply {
    let reply: any HTTPReply
    let origin: String

    func begin(_ head: HTTPResponseHead, bodyBytes: Int?) {
        var head = head
        head.fields.append(("access-control-allow-origin", origin))
        head.fields.append(("vary", "origin"))
        reply.begin(head, bodyBytes: bodyBytes)
    }

    func write(_ bytes: [UInt8]) async throws(LarderError) {
        try await reply.write(bytes)
    }

    func end(_ bytes: [UInt8]) {
        reply.end(bytes)
    }
}
