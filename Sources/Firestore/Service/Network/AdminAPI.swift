import Foundation
import LarderBackend
import LarderModel
import LarderWire

/// What a server answers besides gRPC, as Firestore's emulator does.
///
/// - `GET /`: `Ok`;
/// - `GET /health`: how it is, as JSON;
/// - `DELETE /emulator/v1/projects/P/databases/D/documents`: deletes all documents.
///
/// A request that a foreign web page can have made is refused (403), see ``WebAccess``.
struct AdminAPI: Sendable {
    /// A request without a body.
    struct Request: Sendable {
        var method: String
        /// The path with what may stand behind a `?`.
        var path: String
        var authorization: String?
        /// Where it comes from and goes to.
        var web = WebAccess.Request()
    }

    /// An answer.
    struct Response: Sendable, Equatable {
        var status: Int
        var contentType = "application/json"
        var body: String
    }

    private static let prefix = "/emulator/v1/"
    private static let suffix = "/documents"

    /// The databases of the server.
    let databases: Databases
    /// The open streams.
    let streams: StreamCount
    /// What clients must bear.
    let token: BearerToken?
    /// Which requests of web pages are served.
    let access: WebAccess

    /// Answers a request.
    func answer(_ request: Request) async -> Response {
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
                return Self.failure(401, "a bearer token is missing or wrong")
            }
            return await deleteDocuments(String(path.dropFirst(Self.prefix.count)))
        case (_, "/"), (_, "/health"): return Self.failure(405, "this is to be read with GET")
        default: return Self.failure(404, "there is nothing here")
        }
    }

    private func deleteDocuments(_ name: String) async -> Response {
        do throws(LarderError) {
            guard let name = name.removingPercentEncoding else {
                throw LarderError(.invalidArgument, "the path cannot be read")
            }
            let resource = String(name.dropLast(Self.suffix.count))
            let id = try DatabaseID(ofResource: resource)
            guard "\(id)" == resource else {
                throw LarderError(.invalidArgument, "the path names more than a database")
            }
            try await databases.database(id).deleteAllDocuments()
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
