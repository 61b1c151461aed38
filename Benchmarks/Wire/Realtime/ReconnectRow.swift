import BenchmarkMeasuring
import Foundation
import LarderRealtimeModel

/// Clients whose caches have not changed listen again.
struct ReconnectRow {
    let run: Run

    private static let threads = 16
    private static let leaves = 1_000

    func callAsFunction() throws {
        let clients = run.count(1_000, quick: 50)
        let server = try run.startServer("reconnect")
        let hashes = try load(server, clients)
        var (first, later): ([Double], [Double]) = ([], [])
        var dataCount = 0
        for round in 0...run.rounds {
            let start = server.processorTime
            dataCount += try listen(server, hashes)
            let each = (server.processorTime - start) / Double(clients)
            if round == 0 { first.append(each) } else { later.append(each) }
        }
        run.report.add(
            Row(
                id: "reconnect",
                title: "\(clients) clients listen again to \(Self.leaves) unchanged leaves each",
                lines: [
                    .init(
                        label: "each, processor time of the server, first time",
                        value: first.series(1e6), unit: "us"),
                    .init(
                        label: "each, once the hashes are known", value: later.series(1e6),
                        unit: "us"),
                ],
                verdict: .init(
                    reached: Double(dataCount), direction: .atMost, limit: 0,
                    unit: "messages with data")))
        server.stop()
    }

    /// Stores what each client has; the hashes of that.
    private func load(_ server: ServerProcess, _ clients: Int) throws -> [String] {
        try (0..<clients).map { client in
            let leaves = (0..<Self.leaves).map { #""k\#(1000 + $0)":\#(client * $0)"# }
            let text = Array("{\(leaves.joined(separator: ","))}".utf8)
            let head = try RESTImport.send("PUT", "/c\(client).json", text, server)
            guard head.contains(" 204 ") else {
                throw WireConnection.Problem(description: "a write failed: \(head)")
            }
            return try text.withUnsafeBytes { try Node(parsing: $0) }.hash
        }
    }

    /// The number of messages with data that all clients receive.
    private func listen(_ server: ServerProcess, _ hashes: [String]) throws -> Int {
        let (counts, port) = (Counts(Self.threads), server.port)
        try Threads.run(Self.threads) { thread in
            for client in stride(from: thread, to: hashes.count, by: Self.threads) {
                let socket = try FrameSocket(port: port)
                _ = try socket.receive()
                try socket.send([
                    Array(
                        #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/c\#(client)","h":"\#(hashes[client])"}}}"#
                            .utf8)
                ])
                while !String(decoding: try socket.receive(), as: UTF8.self).contains(#""r":1"#) {
                    counts.values[thread] += 1
                }
            }
        }
        return counts.values.reduce(0, +)
    }

    private final class Counts: @unchecked Sendable {
        // Each thread uses an element of its own.
        nonisolated(unsafe) let values: UnsafeMutableBufferPointer<Int>

        init(_ count: Int) {
            values = .allocate(capacity: count)
            values.initialize(repeating: 0)
        }

        deinit { values.deallocate() }
    }
}
