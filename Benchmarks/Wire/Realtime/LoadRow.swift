import ArgumentParser
import BenchmarkMeasuring
import Foundation
import LarderRealtime
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeWebSocket

/// A client's first load of many children, with a cache on disk, beside storing as many leaves.
struct LoadRow {
    let run: Run

    private static let timeLimit = 2.5
    private static let memoryLimit = 3.0

    func callAsFunction() async throws {
        let count = run.count(100_000, quick: 5_000)
        let leaves = (0..<count).map { #""k\#(1_000_000 + $0)":"the value of number \#($0)""# }
        let text = Array("{\(leaves.joined(separator: ","))}".utf8)
        let server = try run.startServer("load")
        _ = try RESTImport.send("PUT", "/many.json", text, server)
        _ = try RESTImport.send("PUT", "/warm.json", Array("1".utf8), server)
        var (clients, stores): ([LoadClient.Figure], [Double]) = ([], [])
        for round in 0..<run.rounds {
            stores.append(try await RESTImport.store(text, in: run.path("stored-\(round)")).wall)
            let directory = run.path("loaded-\(round)")
            clients.append(try load(server, directory, count))
            try FileManager.default.removeItem(atPath: directory)
        }
        let mebibyte = 1 / 1_048_576.0
        run.report.add(
            Row(
                id: "load", title: "first load of \(count) children, with a cache on disk",
                lines: [
                    .init(label: "load", value: clients.map(\.wall).series(1e3), unit: "ms"),
                    .init(
                        label: "load, processor time of the client",
                        value: clients.map(\.processor).series(1e3), unit: "ms"),
                    .init(label: "storing the leaves", value: stores.series(1e3), unit: "ms"),
                ],
                verdict: .init(
                    reached: Summary(zip(clients, stores).map { $0.wall / $1 }).median,
                    direction: .atMost, limit: Self.timeLimit, unit: "times storing")))
        run.report.add(
            Row(
                id: "load.memory", title: "memory of the client in that",
                lines: [
                    .init(
                        label: "growth", value: clients.map(\.growth).series(mebibyte), unit: "MiB"),
                    .init(
                        label: "the data as JSON", value: Summary([Double(text.count) * mebibyte]),
                        unit: "MiB"),
                ],
                verdict: .init(
                    reached: Summary(clients.map(\.growth)).median / Double(text.count),
                    direction: .atMost, limit: Self.memoryLimit, unit: "times the data")))
        server.stop()
    }

    private func load(
        _ server: ServerProcess, _ directory: String, _ count: Int
    ) throws -> LoadClient.Figure {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [
            "load-client", "--port", "\(server.port)", "--directory", directory, "--count",
            "\(count)",
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw WireConnection.Problem(description: "the client that loads has failed")
        }
        return try JSONDecoder().decode(LoadClient.Figure.self, from: output)
    }
}

/// A client that observes a location until all of it has arrived, and reports the cost; a separate
/// process, to measure its memory.
struct LoadClient: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load-client", abstract: "The client of the row load.", shouldDisplay: false)

    /// The report.
    struct Figure: Codable {
        /// Seconds until the value is cached and delivered.
        let wall: Double
        /// The processor time in seconds.
        let processor: Double
        /// The largest growth of anonymous memory.
        let growth: Double
    }

    @Option(help: "The server's port.")
    var port: Int

    @Option(help: "The directory of the cache.")
    var directory: String

    @Option(help: "The number of children.")
    var count: Int

    func run() async throws {
        var configuration = DatabaseConfiguration(directory: directory)
        configuration.url = "http://127.0.0.1:\(port)?ns=bench"
        configuration.connector = .webSocket
        configuration.callbackQueue = DispatchQueue(label: "callbacks")
        let database = try Database(configuration: configuration)
        // Connects, and excludes one-time costs.
        for try await snapshot in database.reference(withPath: "warm").values
        where snapshot.exists() { break }
        let memory = MemoryWatch()
        let start = Elapsed.now
        for try await snapshot in database.reference(withPath: "many").values
        where snapshot.childrenCount == UInt(count) { break }
        let elapsed = Elapsed.now - start
        let figure = Figure(
            wall: elapsed.wall, processor: elapsed.processor, growth: Double(memory.end()))
        print(String(decoding: try JSONEncoder().encode(figure), as: UTF8.self))
        try await database.close()
    }
}
