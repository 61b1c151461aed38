import Foundation
import LarderGRPC
import LarderServer
import LarderTestSupport
import Logging
import Synchronization

/// The server itself, in this process, which a test can stop and start again where it was.
final class WireServer: Sendable {
    private struct State {
        var token = "first"
        var task: Task<Void, any Error>?
    }

    private let storage: ServerConfiguration.Storage
    private let limits: ServerConfiguration.Limits
    private let state = Mutex(State())
    private let reservedPort: ReservedPort

    private init(
        _ storage: ServerConfiguration.Storage, _ limits: ServerConfiguration.Limits
    ) throws {
        self.storage = storage
        self.limits = limits
        reservedPort = try ReservedPort()
    }

    /// A server that listens at a port that is free.
    static func started(
        _ storage: ServerConfiguration.Storage = .memory,
        _ limits: ServerConfiguration.Limits = .init()
    ) async throws -> WireServer {
        var limits = limits
        // Clients of tests ask often whether it is there.
        limits.pingInterval = .zero
        limits.grace = .milliseconds(100)
        let server = try WireServer(storage, limits)
        try await server.start()
        return server
    }

    /// The port at which it listens, also after a restart.
    var port: Int { reservedPort.number }
    /// Bearer token that clients must present.
    var token: String { state.withLock { $0.token } }
    /// Whether it serves.
    var isRunning: Bool { state.withLock { $0.task != nil } }

    /// Serves from now on.
    func start() async throws {
        var configuration = ServerConfiguration(port: port, storage: storage)
        configuration.token = token
        configuration.limits = limits
        let server = try Server(
            configuration, logger: Logger(label: "server") { _ in SwiftLogNoOpLogHandler() })
        waitForSpawns()
        let task = Task { try await server.run() }
        guard await server.port != nil else { return try await task.value }
        state.withLock { $0.task = task }
    }

    /// Ends all streams, closes the databases and listens no more.
    func stop() async throws {
        let task = state.withLock { state in
            defer { state.task = nil }
            return state.task
        }
        task?.cancel()
        try await task?.value
    }

    /// Requires another token of all clients, once it is started again.
    func changeToken() {
        state.withLock { $0.token += "'" }
    }

    /// A connection to it, or to a proxy before it.
    func connection(
        port: Int? = nil, project: String,
        _ change: (inout CloudFirestoreConfiguration) -> Void = { _ in }
    ) throws -> CloudFirestore {
        var configuration = CloudFirestoreConfiguration(project: project, environment: [:])
        configuration.useEmulator(withHost: "127.0.0.1", port: port ?? self.port)
        configuration.credentials = .provider { [self] _, _ in AccessToken(token) }
        change(&configuration)
        return try CloudFirestore(configuration)
    }

    // MARK: What is open

    /// How many streams are open, as the server says it.
    var streamCount: Int {
        get async throws {
            struct Health: Decodable { let streams: Int }
            let peer = try await Peer.connected(to: port)
            let fields = "authorization: Bearer \(token)\r\nconnection: close\r\n"
            peer.say("GET /health HTTP/1.1\r\nhost: 127.0.0.1:\(port)\r\n\(fields)\r\n")
            await peer.isEnded.wait { $0 }
            let body = peer.received.value.split(separator: "\r\n\r\n").last ?? ""
            return try JSONDecoder().decode(Health.self, from: Data(body.utf8)).streams
        }
    }

    /// How many connections of clients are open, as the system says it; nil where it says nothing.
    var connectionCount: Int? {
        guard let table = try? String(contentsOfFile: "/proc/self/net/tcp", encoding: .utf8) else {
            return nil
        }
        let port = String(port, radix: 16, uppercase: true)
        let suffix = ":" + String(repeating: "0", count: 4 - port.count) + port
        // Established, or ended by the client and not by the server.
        return table.split(separator: "\n").dropFirst()
            .map { $0.split(separator: " ") }
            .count { $0.count > 3 && $0[1].hasSuffix(suffix) && ["01", "08"].contains($0[3]) }
    }

    /// Waits until no stream and no connection is open.
    func rest() async throws {
        while try await streamCount > 0 || connectionCount ?? 0 > 0 {}
    }
}
