import Foundation

/// Listeners that nothing happens for.
struct IdleRow {
    let run: Run

    private static let count = 1_000
    private static let limitBytes = 65_536.0

    func callAsFunction() throws {
        let server = try run.startServer("idle")
        try run.load(server, "cities", count: 2_000)
        // What it needs once is there before.
        let first = try WireConnection(port: server.port)
        try first.listen(try request(0), streams: 1)
        let shared = try measure(
            server, connections: 20, id: "idle.memory",
            title: "memory of each of 1,000 idle listeners, 50 on a connection")
        let start = server.processorTime
        sleep(run.isQuick ? 2 : 10)
        let busy = server.processorTime - start
        run.report.add(
            Row(
                id: "idle.processor", title: "processor time of the server with them",
                lines: [
                    .init(
                        label: "in \(run.isQuick ? 2 : 10) seconds", value: Series([busy * 1e3]),
                        unit: "ms")
                ],
                verdict: .init(
                    reached: busy * 1e3, direction: .atMost, limit: 0, unit: "ms")))
        let own = try measure(
            server, connections: Self.count, id: "idle.connections",
            title: "the same, each on a connection of its own")
        withExtendedLifetime((first, shared, own)) {}
    }

    /// Opens listeners, and measures what the server takes for them.
    ///
    /// - Returns: their connections, which keep them.
    private func measure(
        _ server: ServerProcess, connections count: Int, id: String, title: String
    ) throws -> [WireConnection] {
        let before = server.residentBytes
        var connections: [WireConnection] = []
        for number in 0..<count {
            let connection = try WireConnection(port: server.port)
            try connection.listen(try request(number), streams: Self.count / count)
            connections.append(connection)
        }
        let each = (server.residentBytes - before) / Double(Self.count)
        run.report.add(
            Row(
                id: id, title: title,
                lines: [.init(label: "resident", value: Series([each]), unit: "bytes")],
                verdict: .init(
                    reached: each, direction: .atMost, limit: Self.limitBytes, unit: "bytes")))
        sleep(1)
        return connections
    }

    private func request(_ number: Int) throws -> [UInt8] {
        try Requests.listen(Requests.query("cities", group: number % 100))
    }
}
