import Foundation
import LarderBackend
import LarderHTTP
import LarderModel
import LarderWire

/// The endpoints of a server besides gRPC, as of Firestore's emulator.
///
/// - `GET /`: `Ok`;
/// - `GET /health`: the server's state as JSON;
/// - `DELETE /emulator/v1/projects/P/databases/D/documents`: deletes all documents.
///
/// A request that may come from a foreign web page is refused with 403, see ``LarderHTTP/WebAccess``.
struct AdminAPI: Sendable {
    typealias Request = HTTP1Handler.Request
    typealias Response = HTTP1Handler.Response

    private static let prefix = "/emulator/v1/"
    private static let suffix = "/documents"

    let databases: Databases
    let streams: StreamCount
    let token: BearerToken?
    let access: WebAccess

    func respond(to request: Request) async -> Response {
        if let reason = access.refusal(of: request.web) { return Self.failure(403, reason) }
        let path = String(request.path.prefix { $0 != "?" })
        switch (request.method, path) {
        case ("GET", "/"), ("HEAD", "/"):
            return Response(status: 200, contentType: "text/plain", body: "Ok\n")
        case ("GET", "/health"), ("HEAD", "/health"):
            return Response(
                status: 200,
                body: #"{"status":"ok","databases":\#(databases.count),"#
                    + #""streams":\#(streams.value)}"# + "\n")
        case ("DELETE", _) where path.hasPrefix(Self.prefix) && path.hasSuffix(Self.suffix):
            guard token?.admits(request.authorization) ?? true else {
                return Self.failure(401, "the bearer token is missing or wrong")
            }
            return await deleteDocuments(String(path.dropFirst(Self.prefix.count)))
        case (_, "/"), (_, "/health"):
            return Self.failure(405, "\(request.method) is not allowed for \(path): use GET")
        default: return Self.failure(404, "no such endpoint: \(request.method) \(path)")
        }
    }

    private func deleteDocuments(_ name: String) async -> Response {
        do throws(LarderError) {
            guard let name = name.removingPercentEncoding else {
                throw LarderError(.invalidArgument, "the path is not percent-encoded UTF-8")
            }
            let resource = String(name.dropLast(Self.suffix.count))
            let id = try DatabaseID(ofResource: resource)
            guard "\(id)" == resource else {
                throw LarderError(
                    .invalidArgument,
                    "the path must be /emulator/v1/projects/P/databases/D/documents")
            }
            try await databases.readableDatabase(id).deleteAllDocuments()
            return Response(status: 200, body: "{}\n")
        } catch {
            return Self.failure(error.kind == .invalidArgument ? 400 : 503, error.message)
        }
    }

    private static func failure(_ status: Int, _ message: String) -> Response {
        let text: String =
            (try? JSONEncoder().encode(["error": message]))
            .map { String(decoding: $0, as: UTF8.self) } ?? "{}"
        return Response(status: status, body: text + "\n")
    }
}
