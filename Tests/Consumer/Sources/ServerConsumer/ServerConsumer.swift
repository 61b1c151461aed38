import Foundation
import LarderServer
import Logging

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Serves a backend with rules in Swift, and calls it over HTTP, with nothing but the public API.
@main
struct ServerConsumer {
    static func main() async throws {
        var configuration = ServerConfiguration(port: 0, storage: .memory)
        configuration.rules = { _ in
            { request in
                guard case .delete = request.operation else { return .allow }
                return .deny(reason: "documents are kept")
            }
        }
        let server = try Server(configuration, logger: Logger(label: "consumer"))
        let running = Task { try await server.run() }
        guard let port = await server.port else { fatalError("the server does not listen") }
        let address =
            "http://127.0.0.1:\(port)/v1/projects/p/databases/(default)/documents/cities/NYC"
        let written = try await call(
            "PATCH", address, #"{"fields": {"name": {"stringValue": "New York"}}}"#)
        guard written.status == 200 else { fatalError("the write has failed: \(written)") }
        let refused = try await call("DELETE", address)
        guard refused.status == 403 else { fatalError("the delete was not refused: \(refused)") }
        let read = try await call("GET", address)
        guard read.text.contains("New York") else { fatalError("read \(read)") }
        running.cancel()
        try await running.value
        print("NYC: stored by a server, kept by its rules and read back")
    }

    private static func call(
        _ method: String, _ address: String, _ body: String? = nil
    ) async throws -> (status: Int, text: String) {
        guard let url = URL(string: address) else { fatalError("'\(address)' is no URL") }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        let (data, response) = try await URLSession.shared.data(for: request)
        return (
            (response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self)
        )
    }
}
