import BenchmarkMeasuring
import Foundation

/// The memory and the processor time of WebSockets on which nothing happens.
struct SocketsRow {
    let run: Run

    private static let memoryLimit = 24.0 * 1024
    private static let connections = 10_000

    func callAsFunction() throws {
        let wanted = run.count(Self.connections, quick: 500)
        let count = min(wanted, FrameSocket.raiseLimit() / 2)
        let server = try run.startServerInMemory(arguments: [
            "--connections", "\(count + 100)", "--connections-per-address", "\(count + 100)",
        ])
        var sockets = try connect(100, to: server)
        let before = server.anonymousBytes
        sockets += try connect(count, to: server)
        server.rest()
        let each = (server.anonymousBytes - before) / Double(count)
        let (start, seconds) = (server.processorTime, run.isQuick ? 2.0 : 10)
        usleep(UInt32(seconds * 1e6))
        let busy = (server.processorTime - start) * 1e3
        run.report.add(
            Row(
                id: "sockets", title: "memory of each of \(count) idle WebSockets",
                lines: [.init(label: "anonymous", value: Summary([each]), unit: "bytes")],
                verdict: .init(
                    reached: each, direction: .atMost, limit: Self.memoryLimit, unit: "bytes")))
        run.report.add(
            Row(
                id: "sockets.processor", title: "processor time of the server with them",
                lines: [
                    .init(label: "in \(Int(seconds)) seconds", value: Summary([busy]), unit: "ms")
                ],
                verdict: .init(reached: busy, direction: .atMost, limit: 0, unit: "ms")))
        withExtendedLifetime(sockets) {}
        server.stop()
    }

    private func connect(_ count: Int, to server: ServerProcess) throws -> [FrameSocket] {
        try (0..<count).map { _ in
            let socket = try FrameSocket(port: server.port)
            _ = try socket.receive()
            return socket
        }
    }
}
