import ArgumentParser
import BenchmarkMeasuring
import Foundation
import Larder
import LarderGRPC
import Synchronization

/// A client's first synchronisation of all documents.
struct SyncRow {
    let run: Run

    private static let limit = 30_000.0
    /// The limit of the memory for all documents, relative to a tenth of them.
    private static let flatness = 1.25
    /// The number of concurrent listeners: while the results of one are written, those of the next
    /// arrive.
    private static let width = 4

    /// The name of one of a number of collections.
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

    /// The results of several rounds.
    private struct Figures {
        let documents: Double
        var clients: [SyncClient.Figure] = []
        var servers: [Double] = []

        var rate: Summary { clients.map { documents / $0.wall }.series(1) }
        var flatness: Double { Summary(clients.map { $0.growth / $0.firstGrowth }).median }

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

/// A client that listens to collections until its cache has all documents, and reports the cost; a
/// separate process, to measure its memory.
struct SyncClient: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync-client", abstract: "The client of the row sync.",
        shouldDisplay: false)

    /// The report.
    struct Figure: Codable {
        /// Seconds until all documents are cached and delivered.
        let wall: Double
        /// The processor time in seconds.
        let processor: Double
        /// The largest growth of anonymous memory for the first tenth of the collections.
        let firstGrowth: Double
        let growth: Double
    }

    @Option(help: "The server's port.")
    var port: Int

    @Option(help: "The directory of the cache.")
    var directory: String

    @Option(help: "The number of collections.")
    var collections: Int

    @Option(help: "The number of concurrent collections.")
    var width: Int

    @Option(help: "The number of documents of each.")
    var count: Int

    func run() async throws {
        var server = CloudFirestoreConfiguration(project: Requests.project, environment: [:])
        server.useEmulator(withHost: "127.0.0.1", port: port)
        let cloud = try CloudFirestore(server)
        var configuration = FirestoreConfiguration(directory: directory)
        configuration.project = Requests.project
        configuration.backend = cloud.connection
        configuration.cacheSize = .unlimited
        configuration.callbackQueue = DispatchQueue(label: "callbacks")
        let db = try Firestore(configuration: configuration)
        // Connects, and excludes one-time costs.
        _ = try await db.collection("warm").getDocuments(source: .server)
        let memory = MemoryWatch()
        let (wall, processor) = (Clock.wall, Clock.processor)
        let firstGrowth = try await syncAll(db, memory)
        let figure = Figure(
            wall: Clock.wall - wall, processor: Clock.processor - processor,
            firstGrowth: firstGrowth, growth: Double(memory.end()))
        print(String(decoding: try JSONEncoder().encode(figure), as: UTF8.self))
        try await db.terminate()
        await cloud.close()
    }

    /// Listens to all collections in order, several at a time.
    ///
    /// - Returns: the memory growth of the first tenth.
    private func syncAll(_ db: Firestore, _ memory: MemoryWatch) async throws -> Double {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var firstGrowth = 0.0
            for number in 0..<collections {
                if number >= width { try await group.next() }
                if number == collections / 10 + width { firstGrowth = Double(memory.growth) }
                group.addTask {
                    try await sync(db.collection(SyncRow.collection(number, of: collections)))
                }
            }
            try await group.waitForAll()
            return firstGrowth
        }
    }

    /// Listens until all documents of the backend have arrived.
    private func sync(_ collection: CollectionReference) async throws {
        for try await snapshot in collection.snapshots where !snapshot.metadata.isFromCache {
            guard snapshot.count == count else {
                throw WireConnection.Problem(
                    description: "\(snapshot.count) documents instead of \(count)")
            }
            return
        }
    }
}
