import Foundation
import LarderBackend
import LarderCore
import LarderHTTP
import LarderModel
import LarderWire

/// The endpoints of a server for its operator, as of Firestore's emulator.
///
/// - `GET /`: `Ok`;
/// - `GET /health`: the server's state as JSON, with numbers for those who are authorized;
/// - `GET /metrics`: metrics in Prometheus's text format;
/// - `DELETE /emulator/v1/projects/P/databases/D/documents`: deletes all documents.
struct AdminAPI: Sendable {
    private static let prefix = "/emulator/v1/"
    private static let suffix = "/documents"

    let databases: Databases
    let streams: StreamCount
    /// The metrics as text; nil for no endpoint.
    var metrics: (@Sendable () -> String)?

    /// True for the path of an endpoint.
    static func serves(_ path: String) -> Bool {
        ["/", "/health", "/metrics"].contains(path) || path.hasPrefix(prefix)
    }

    /// Responds to a request that web access admits.
    ///
    /// - Parameter isAuthorized: whether the request presents the token, if one is configured.
    func response(to request: HTTPRequest, isAuthorized: Bool) async -> HTTPResponse {
        let path = request.path
        switch (request.method, path) {
        case ("GET", "/"), ("HEAD", "/"):
            return HTTPResponse(status: 200, contentType: "text/plain", text: "Ok\n")
        case ("GET", "/health"), ("HEAD", "/health"):
            let numbers = #","databases":\#(databases.count),"streams":\#(streams.value)"#
            return HTTPResponse(
                status: 200, text: #"{"status":"ok"\#(isAuthorized ? numbers : "")}"# + "\n")
        case ("GET", "/metrics"):
            guard let metrics else { break }
            guard isAuthorized else { return Self.unauthorized }
            return HTTPResponse(
                status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8",
                text: metrics())
        case ("DELETE", _) where path.hasPrefix(Self.prefix) && path.hasSuffix(Self.suffix):
            guard isAuthorized else { return Self.unauthorized }
            return await deleteDocuments(String(path.dropFirst(Self.prefix.count)))
        case (_, "/"), (_, "/health"):
            return HTTPResponse.failure(
                405, "\(request.method) is not allowed for \(path): use GET")
        default: break
        }
        return HTTPResponse.failure(404, "no such endpoint: \(request.method) \(path)")
    }

    private static let unauthorized = HTTPResponse.failure(
        401, "the bearer token is missing or wrong")

    private func deleteDocuments(_ name: String) async -> HTTPResponse {
        do throws(LarderError) {
            guard let name = PercentText.decoded(name) else {
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
            return HTTPResponse(status: 200, text: "{}\n")
        } catch {
            return HTTPResponse.failure(error.kind == .invalidArgument ? 400 : 503, error.message)
        }
    }
}
