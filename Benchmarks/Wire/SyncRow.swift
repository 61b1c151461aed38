import Foundation

/// A client that gets all documents for the first time.
struct SyncRow {
    let run: Run

    private static let limit = 30_000.0
    /// All of the documents take at most so many times the memory of a tenth of them.
    private static let flatness = 1.25
    /// How many listeners there are at a time: while what one was told is written, the next one's
    /// documents come.
    private static let width = 4

    /// The name of one of so many collections.
    static func collection(_ number: Int, of count: Int) -> String { "cities\(number)of\(count)" }

    func callAsFunction() throws {
        let count = run.count(100_000, quick: 10_000)
        let server = try run.startServer("sync")
        let many = try measure(server, collections: 100, count: count / 100)
        let speed = Row.Verdict(
            reached: many.rate.median, direction: .atLeast, limit: Self.limit, unit: "/s")
        let memory = Row.Verdict(
            reached: many.flatness, direction: .atMost, limit: Self.flatness,
            unit: "times the memory of a tenth")
        run.report.add(
            Row(
                id: "sync",
                title: "first sync of \(count) documents, 100 listeners, \(Self.width) at a time",
                lines: many.lines, verdict: speed))
        run.report.add(
            Row(
                id: "sync.memory", title: "growth of the client's memory in that",
                lines: many.memory, verdict: memory))
        let one = try measure(server, collections: 1, count: count)
        run.report.add(
            Row(
                id: "sync.one", title: "first sync of \(count) documents, one listener",
                lines: one.lines + one.memory.suffix(1),
                verdict: Row.Verdict(
                    reached: one.rate.median, direction: .atLeast, limit: Self.limit, unit: "/s"),
                note: "the listener's result is in memory, as long as it listens"))
    }

    /// The figures of some rounds.
    private struct Figures {
        let documents: Double
        var clients: [SyncClient.Figure] = []
        var servers: [Double] = []

        var rate: Series { clients.map { documents / $0.wall }.series(1) }
        var flatness: Double { Series(clients.map { $0.growth / $0.firstGrowth }).median }

        var lines: [Row.Line] {
            [
                .init(label: "documents", value: rate, unit: "/s"),
                .init(
                    label: "each, processor time of the client",
                    value: clients.map { $0.processor / documents }.series(1e6), unit: "us"),
                .init(
                    label: "each, processor time of the server",
                    value: servers.map { $0 / documents }.series(1e6), unit: "us"),
            ]
        }

        var memory: [Row.Line] {
            [
                .init(
                    label: "growth of memory, a tenth of them",
                    value: clients.map(\.firstGrowth).series(1 / 1_048_576), unit: "MiB"),
                .init(
                    label: "growth of memory, all",
                    value: clients.map(\.growth).series(1 / 1_048_576), unit: "MiB"),
            ]
        }
    }

    private func measure(
        _ server: ServerProcess, collections: Int, count: Int
    ) throws -> Figures {
        for number in 0..<collections {
            try run.load(
                server, Self.collection(number, of: collections), count: count, isLarge: true)
        }
        var figures = Figures(documents: Double(collections * count))
        for round in 0..<min(run.rounds, 3) {
            let start = server.processorTime
            let directory = run.path("client-\(collections)-\(round)")
            figures.clients.append(
                try sync(server, directory, collections: collections, count: count))
            figures.servers.append(server.processorTime - start)
            try FileManager.default.removeItem(atPath: directory)
        }
        return figures
    }

    private func sync(
        _ server: ServerProcess, _ directory: String, collections: Int, count: Int
    ) throws -> SyncClient.Figure {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [
            "sync-client", "--port", "\(server.port)", "--directory", directory,
            "--collections", "\(collections)", "--width", "\(Self.width)",
            "--count", "\(count)",
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw WireConnection.Problem(description: "the client that syncs has failed")
        }
        return try JSONDecoder().decode(SyncClient.Figure.self, from: output)
    }
}
