import GRPCCore
import LarderHTTP
import LarderModel
import Synchronization

/// Firestore's RPCs with one request over HTTP, as Google serves them besides gRPC: proto3's JSON
/// form of the messages, at the paths of ``JSONRoutes``.
///
/// RPCs with several responses answer with a JSON array. An error is
/// `{"error": {"code", "message", "status"}}`; in an array it is the last element.
struct JSONAPI: Sendable {
    let calls: EncodedCalls

    func respond(to request: HTTPRequest, _ reply: any HTTPReply) async {
        do throws(RPCError) {
            let (route, path) = try Self.route(of: request)
            if route.isStream {
                await stream(route, request, path, JSONArray(reply: reply))
            } else {
                await reply.send(try await response(route, request, path))
            }
        } catch {
            await reply.send(HTTPResponse(error))
        }
    }

    private static func route(of request: HTTPRequest) throws(RPCError) -> (JSONRoute, JSONPath) {
        guard let path = JSONPath(request.path, methods: JSONRoutes.names),
            let route = JSONRoutes.route(request.method, path)
        else {
            throw RPCError(
                code: .notFound, message: "no such method: \(request.method) \(request.path)")
        }
        let encoding = request[field: "content-encoding"] ?? "identity"
        guard encoding == "identity" else {
            throw RPCError(
                code: .unimplemented, message: "\(encoding) compression is not supported")
        }
        return (route, path)
    }

    private func response(
        _ route: JSONRoute, _ request: HTTPRequest, _ path: JSONPath
    ) async throws(RPCError) -> HTTPResponse {
        let answer = JSONAnswer()
        let message = try route.encode(request, path)
        try await calls.serve(route.method, message, request.metadata) { messages in
            let json = try messages.flatMap(route.decode)
            answer.json.withLock { $0 = json }
        }
        return HTTPResponse(
            status: 200, body: answer.json.withLock { $0 } + [UInt8(ascii: "\n")])
    }

    private func stream(
        _ route: JSONRoute, _ request: HTTPRequest, _ path: JSONPath, _ array: JSONArray
    ) async {
        do throws(RPCError) {
            let message = try route.encode(request, path)
            try await calls.serve(route.method, message, request.metadata) { messages in
                try await array.append(try messages.map(route.decode))
            }
            await array.end(nil)
        } catch {
            await array.end(error)
        }
    }
}

/// The single response of an RPC.
private final class JSONAnswer: Sendable {
    let json = Mutex<[UInt8]>([])
}

/// A response that is an array of JSON, sent as its elements come; used by one task.
private final class JSONArray: Sendable {
    private let reply: any HTTPReply
    private let hasBegun = Atomic(false)

    init(reply: any HTTPReply) {
        self.reply = reply
    }

    /// Sends elements.
    func append(_ elements: [[UInt8]]) async throws {
        guard !elements.isEmpty else { return }
        let bytes = joined(elements)
        if !hasBegun.exchange(true, ordering: .relaxed) {
            let head = HTTPResponseHead(
                status: 200, fields: [("content-type", HTTPResponse.json)])
            reply.begin(head, bodyBytes: nil)
        }
        try await reply.write(bytes)
    }

    /// Ends the response; with an error as its last element, which has the status if it is the
    /// only one.
    func end(_ error: RPCError?) async {
        // Nothing may follow the bracket: Google's REST clients refuse a new line there.
        let last = joined(error.map { [$0.json] } ?? []) + [UInt8(ascii: "]")]
        if hasBegun.load(ordering: .relaxed) { return reply.end(last) }
        await reply.send(HTTPResponse(status: error?.code.http.status ?? 200, body: last))
    }

    /// The text of elements after those that were sent.
    private func joined(_ elements: [[UInt8]]) -> [UInt8] {
        let separator = Array(",\n".utf8)
        guard hasBegun.load(ordering: .relaxed) else {
            return [UInt8(ascii: "[")] + elements.joined(separator: separator)
        }
        return elements.flatMap { separator + $0 }
    }
}

extension HTTPRequest {
    /// The header fields as metadata of a call.
    fileprivate var metadata: Metadata {
        var metadata = Metadata()
        for (name, value) in fields where !name.hasSuffix("-bin") {
            metadata.addString(value, forKey: name)
        }
        return metadata
    }
}
