import ArgumentParser
import Foundation
import Larder
import LarderRealtime

/// A till of a café: takes orders with and without a network, and shows which tills are in use.
///
/// Reads commands from standard input, one a line.
@main
struct Kiosk: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Takes the orders of a café.",
        discussion: """
            Commands: order ITEM COUNT, orders, pending, offline, online, quit. At the end of the \
            input, or after quit, orders that were not sent stay on disk for the next start.
            """)

    @Option(help: "The name of this till.")
    var name: String

    @Option(help: "The directory of the databases.")
    var data: String

    @Option(help: "The host and the port of larderd.")
    var server = "127.0.0.1:8080"

    func run() async throws {
        let server = try ServerAddress(server)
        let queue = try OrderQueue(directory: "\(data)/documents", server: server)
        let presence = try Presence(name: name, directory: "\(data)/tree", server: server)
        presence.announce()
        show("\(name) is open")
        for await line in Self.lines {
            let words = line.split(separator: " ").map(String.init)
            do {
                switch words.first {
                case nil: continue
                case "order" where words.count == 3:
                    try await queue.add(words[1], count: Int(words[2]) ?? 1, till: name)
                case "orders": try await queue.list()
                case "pending": try await queue.showPending()
                case "offline":
                    try await queue.db.disableNetwork()
                    presence.database.goOffline()
                case "online":
                    try await queue.db.enableNetwork()
                    queue.db.reconnect()
                    presence.database.goOnline()
                case "quit": return try await close(queue, presence)
                default: show("unknown command: \(line)")
                }
            } catch {
                show("failed: \(error.localizedDescription)")
            }
        }
        try await close(queue, presence)
    }

    private func close(_ queue: OrderQueue, _ presence: Presence) async throws {
        try await presence.database.close()
        try await queue.db.terminate()
        show("\(name) is closed")
    }

    /// The lines of standard input, read by a thread that may block.
    private static var lines: AsyncStream<String> {
        AsyncStream { continuation in
            Thread.detachNewThread {
                while let line = readLine() { continuation.yield(line) }
                continuation.finish()
            }
        }
    }
}

/// Prints a line at once, also to a file or a pipe.
func show(_ line: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
}

/// The host and the port of a server.
struct ServerAddress {
    let host: String
    let port: Int

    init(_ text: String) throws {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...])
        else { throw ValidationError("'\(text)' is not a host and a port, such as 127.0.0.1:8080") }
        self.host = String(text[..<colon])
        self.port = port
    }
}
