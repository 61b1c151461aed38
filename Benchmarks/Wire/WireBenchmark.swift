import ArgumentParser
import BenchmarkMeasuring
import Foundation

/// Measures `larderd` and the client over sockets, in comparison with Google's emulator if it is
/// installed.
///
/// A program of Larder's package outside of its products, because it uses the messages shared by
/// the server and the client.
@main
struct WireBenchmark: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "larderd and the client over sockets, compared with Google's emulator.",
        subcommands: [Measure.self, SyncClient.self, LoadClient.self, EchoServer.self],
        defaultSubcommand: Measure.self)
}

struct Measure: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measures the rows (the default).",
        discussion: """
            Starts the servers on free ports of this machine, with databases in a temporary
            directory, and ends them. Ratios are of one run; servers take turns in each round, each
            while the other rests, and a row is the median of its rounds. Calls are made by threads
            that write and read the frames of HTTP/2 themselves, so that what is measured is the
            servers. All that larderd acknowledges is on the disk; the emulator has everything in
            memory.

            ROWS
              emulator  sets, gets, queries of 20 results and listens a second, 32 at a time over 4
                        connections, documents of 150 bytes: at least 3 times the emulator's; and
                        resident memory after all that, mapped files included: at most a tenth
              fanout    a commit until 200 listeners of one query have it, over 4 connections: at
                        most 3 times as long as until one is
              commits   durable commits of one document from 32 connections: at least 5 times as
                        many a second as from one
              stream    RunQuery of 10,000 documents of 1 KB: at most 2 times what reading and
                        encoding them takes in a process
              sync      100,000 documents of 1 KB into the persistent cache of a client, 100
                        listeners, 4 at a time, and one: at least 30,000 a second; the 100 with
                        at most 1.25 times the memory of the first ten
              idle      1,000 listeners that nothing happens for, 50 on a connection, then each
                        on its own: no processor time of the server, at most 64 KiB each
              puts      puts of one leaf of a Realtime Database from 32 WebSockets, in memory: at
                        least 0.4 of the messages a second of an echo by SwiftNIO; a rule about
                        a write: at most a tenth of a put's processor time
              pushes    a put until 1,000 WebSockets that listen to its location have it: at
                        most 3 times as long as until one has it
              sockets   10,000 idle WebSockets: at most 24 KiB each, and no processor time
              reconnect 1,000 clients listen again to 1,000 unchanged leaves each: no message
                        with data
              load      100,000 children into the cache of a client: at most 2.5 times storing
                        them in a process, with at most 3 times their memory
              import    a Realtime Database of 100 MB by one REST request, on disk: at most 3
                        times storing its leaves in a process, and 64 MiB above idle
              crowd     only if named: 1,000 clients that listen and write, each on its own
                        connection, for --minutes: the server's memory in the last fifth of the
                        time at most 1.15 times that in the first

            Exit status: 0, or with --strict 2 when a limit was missed.
            """)

    @Option(help: ArgumentHelp("The server, built for release.", valueName: "path"))
    var larderd = ".build/release/larderd"

    @Option(
        help: ArgumentHelp(
            "Google's emulator; by default searched in PATH and its packages.", valueName: "path"))
    var emulator: String?

    @Option(help: ArgumentHelp("Rows by name, separated by commas.", valueName: "list"))
    var only: String?

    @Option(help: "The number of rounds of each row.")
    var rounds = 5

    @Option(help: "The minutes of the row crowd; 10 seconds in a quick run.")
    var minutes = 1.0

    @Flag(help: "Few calls, documents and rounds, as a smoke test.")
    var quick = false

    @Option(help: ArgumentHelp("The directory of the databases.", valueName: "directory"))
    var dir = FileManager.default.temporaryDirectory.path

    @Option(help: ArgumentHelp("Write the results to this file as JSON.", valueName: "file"))
    var json: String?

    @Flag(help: "Exit with 2 if a limit was missed.")
    var strict = false

    /// The requested rows; nil for all that are not requested by name.
    private var asked: Set<String>? {
        only.map { Set($0.split(separator: ",").map(String.init)) }
    }

    func validate() throws {
        guard minutes > 0 else { throw ValidationError("--minutes must be positive.") }
        guard let asked else { return }
        let names = Self.rows.map(\.0) + [Self.crowd]
        guard !asked.isEmpty, asked.isSubset(of: names) else {
            throw ValidationError("--only accepts these rows: \(names.joined(separator: ", ")).")
        }
    }

    func run() async throws {
        let run = try Run(
            larderd: larderd, emulator: emulator, parent: dir, rounds: quick ? 1 : rounds,
            isQuick: quick)
        defer { run.removeDirectory() }
        print(
            "    \(Machine.processorCount) processors, load at the start "
                + Machine.load.prefix { $0 != " " })
        for (name, measure) in Self.rows where asked?.contains(name) ?? true {
            try await measure(run)
        }
        if asked?.contains(Self.crowd) == true {
            try CrowdRow(run: run, seconds: quick ? 10 : minutes * 60)()
        }
        let missed = run.report.printSummary()
        if let json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try encoder.encode(run.report.rows).write(to: URL(fileURLWithPath: json))
        }
        if strict, missed > 0 { throw ExitCode(2) }
    }

    /// The name of the row that takes minutes.
    private static let crowd = "crowd"

    private static let rows: [(String, @Sendable (Run) async throws -> Void)] = [
        ("emulator", { try EmulatorRows(run: $0)() }),
        ("fanout", { try FanOutRow(run: $0)() }),
        ("commits", { try CommitRow(run: $0)() }),
        ("stream", { try await StreamRow(run: $0)() }),
        ("sync", { try SyncRow(run: $0)() }),
        ("idle", { try IdleRow(run: $0)() }),
        ("puts", { try PutsRow(run: $0)() }),
        ("pushes", { try PushesRow(run: $0)() }),
        ("sockets", { try SocketsRow(run: $0)() }),
        ("reconnect", { try ReconnectRow(run: $0)() }),
        ("load", { try await LoadRow(run: $0)() }),
        ("import", { try await ImportRow(run: $0)() }),
    ]
}
