import LarderRealtime
import LarderRealtimeServer
import LarderServer
import LarderSharedTestSupport
import Logging

/// A server of Realtime Databases on disk, in this process, which a test can stop and start again
/// where it was.
final class SocketServer {
    private let directory: String
    private let reservedPort: ReservedPort
    private var task: Task<Void, any Error>?

    init(directory: String) throws {
        self.directory = directory
        reservedPort = try ReservedPort()
    }

    /// The port at which it listens, also after a restart.
    var port: Int { reservedPort.number }

    var isRunning: Bool { task != nil }

    /// Serves from now on.
    func start() async throws {
        var configuration = ServerConfiguration(port: port, storage: .memory)
        configuration.limits.grace = .milliseconds(100)
        let logger = Logger(label: "server") { _ in SwiftLogNoOpLogHandler() }
        let endpoint = RealtimeEndpoint(
            RealtimeServerConfiguration(.directory(directory)), logger: logger)
        let server = try Server(configuration, services: [endpoint], logger: logger)
        waitForSpawns()
        let task = Task { try await server.run() }
        guard await server.port != nil else { return try await task.value }
        self.task = task
    }

    /// Ends all sessions, closes the databases and listens no more.
    func stop() async throws {
        let task = task
        self.task = nil
        task?.cancel()
        try await task?.value
    }
}
