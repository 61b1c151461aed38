import ArgumentParser
import Foundation
import LarderDemo
import LarderRealtime
import LarderRealtimeWebSocket

/// Presence with a server, between processes some of which are killed.
struct Presence: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs a chapter about presence with a server.")

    enum Chapter: String, CaseIterable, ExpressibleByArgument {
        /// Ada connects, and her process kills itself.
        case arrive
        /// Ada connects, and stays until her process is ended.
        case stay
        /// Bob looks at Ada.
        case observe
    }

    @Argument(help: "The chapter to run.")
    var chapter: Chapter

    @Option(help: "The server's port on this machine.")
    var port: Int

    @Option(help: "The number of times that Ada has left, for which Bob waits.")
    var leavings = 1

    @Option(help: "The number of Ada's connections, for which Bob waits.")
    var connections = 0

    private var transcript: Transcript { Transcript() }

    func run() async throws {
        let database = try open()
        switch chapter {
        case .arrive:
            try await arrive(database)
            transcript.line("her process kills itself")
            kill(getpid(), SIGKILL)
        case .stay:
            try await arrive(database)
            // Until the process is ended.
            while true { try await Task.sleep(for: .seconds(3600)) }
        case .observe:
            try await observe(database)
            try await database.close()
        }
    }

    private func arrive(_ database: Database) async throws {
        try await transcript.step("Ada connects; the server records what to write when she is gone")
        {
            let (acknowledgements, continuation) = AsyncStream.makeStream(of: Void.self)
            database.announceAda { continuation.yield() }
            for await _ in acknowledgements { break }
            return "recorded, and she is online"
        }
    }

    private func observe(_ database: Database) async throws {
        try await transcript.step("Bob looks at Ada") {
            for try await user in database.reference(withPath: "users/ada").values {
                let count = user.childSnapshot(forPath: "connections").childrenCount
                guard user.childSnapshot(forPath: "leavings").value as? Int == leavings,
                    Int(count) == connections
                else { continue }
                guard user.childSnapshot(forPath: "lastOnline").value is Int else {
                    throw Unequal("lastOnline is not a time")
                }
                let times = leavings == 1 ? "once" : "\(leavings) times"
                return connections == 0
                    ? "she has left \(times), and he sees since when"
                    : "she has left \(times), and is online again by one connection"
            }
            throw Unequal("the sequence of snapshots has ended")
        }
    }

    private func open() throws -> Database {
        var configuration = DatabaseConfiguration.inMemory
        configuration.url = "http://127.0.0.1:\(port)?ns=demo"
        configuration.connector = .webSocket
        configuration.callbackQueue = DispatchQueue(label: "larder.demo")
        return try Database(configuration: configuration)
    }
}
