import LarderCore
import LarderHTTP
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeServer
import LarderRealtimeWebSocket
import LarderServer
import Logging

/// A server with Realtime Databases on a socket of this machine.
final class MountedServer: Sendable {
    let port: Int
    private let running: Task<Void, any Error>

    /// Starts a server in memory, unless the configuration says otherwise.
    init(
        _ change: (inout ServerConfiguration, inout RealtimeServerConfiguration) throws -> Void = {
            _, _ in
        }
    ) async throws {
        var configuration = ServerConfiguration(port: 0, storage: .memory)
        configuration.limits.grace = .milliseconds(500)
        configuration.limits.databases = 8
        var realtime = RealtimeServerConfiguration(.memory)
        realtime.namespaces = 8
        try change(&configuration, &realtime)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let endpoint = RealtimeEndpoint(realtime, logger: logger)
        let server = try Server(configuration, services: [endpoint], logger: logger)
        running = Task { try await server.run() }
        guard let port = await server.port else {
            try await running.value
            throw LarderError(realtime: .unavailable, "the server has not listened")
        }
        self.port = port
    }

    /// Stops the server; returns when it has ended.
    func stop() async throws {
        running.cancel()
        try await running.value
    }

    /// A namespace over sockets.
    func remote(_ namespace: String = "demo") throws -> any RealtimeRemote {
        var configuration = WebSocketConfiguration()
        configuration.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let connector = RealtimeRemoteConnector.webSocket(configuration, environment: [:])
        return try connector.connect(
            RealtimeRemoteConnector.Address(
                host: "127.0.0.1:\(port)", namespace: namespace, isEncrypted: false)
        ).remote
    }
}

/// Runs a body with a server, and stops it.
func withServer(
    _ change: (inout ServerConfiguration, inout RealtimeServerConfiguration) throws -> Void = {
        _, _ in
    },
    _ body: (MountedServer) async throws -> Void
) async throws {
    let server = try await MountedServer(change)
    do {
        try await body(server)
    } catch {
        try? await server.stop()
        throw error
    }
    try await server.stop()
}
