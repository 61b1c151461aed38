import BenchmarkMeasuring
import Foundation
import Synchronization

/// The latency from a commit to its listeners.
struct FanOutRow {
    let run: Run

    private static let connections = 4
    private static let streams = 50

    func callAsFunction() throws {
        let server = try run.startServer("fanout")
        for collection in ["one", "many"] { try run.load(server, collection, count: 20) }
        let one = try Listeners(server, "one", connections: 1, streams: 1)
        let many = try Listeners(
            server, "many", connections: Self.connections, streams: Self.streams)
        let writer = try WireConnection(port: server.port)
        let writes = run.count(100, quick: 20)
        var figures: (one: [Double], many: [Double], busy: [Double]) = ([], [], [])
        for round in 0...run.rounds {
            var (oneTimes, manyTimes): ([Double], [Double]) = ([], [])
            let start = server.processorTime
            for write in 0..<writes {
                let revision = round * writes + write + 1
                oneTimes.append(try time(writer, "one", revision, one))
                manyTimes.append(try time(writer, "many", revision, many))
            }
            // The first round warms up.
            guard round > 0 else { continue }
            figures.one.append(Summary(oneTimes).median)
            figures.many.append(Summary(manyTimes).median)
            figures.busy.append((server.processorTime - start) / Double(writes))
        }
        run.report.add(
            Row(
                id: "fanout", title: "a commit until 200 listeners on one query are notified",
                lines: [
                    .init(label: "one", value: figures.one.series(1e6), unit: "us"),
                    .init(label: "200", value: figures.many.series(1e6), unit: "us"),
                    .init(
                        label: "both, processor time of the server",
                        value: figures.busy.series(1e6), unit: "us"),
                ],
                verdict: .init(
                    reached: Summary(zip(figures.many, figures.one).map { $0 / $1 }).median,
                    direction: .atMost, limit: 3, unit: "times one listener")))
        server.stop()
    }

    private func time(
        _ writer: WireConnection, _ collection: String, _ revision: Int, _ listeners: Listeners
    ) throws -> Double {
        let commit = try Requests.commit([
            Requests.document(collection, revision % 20, revision: revision)
        ])
        let start = Clock.wall
        try writer.send(commit, on: writer.open("Commit"), isLast: true)
        try writer.flush()
        let end = try listeners.waitUntilTold()
        while case .message = try writer.next() {}
        return end - start
    }
}

extension [Double] {
    /// The results of a row, scaled.
    func series(_ scale: Double) -> Summary { Summary(map { $0 * scale }) }
}

/// Clients that listen to one query: streams on several connections, each with a reading thread.
final class Listeners: Sendable {
    private struct Reader: @unchecked Sendable {
        // Used only by its thread.
        let connection: WireConnection
    }

    private struct State {
        var toldCount = 0
        var lastTold = 0.0
        var failure: (any Error)?
    }

    private let count: Int
    private let state = Mutex(State())
    private let allTold = DispatchSemaphore(value: 0)

    /// Opens the streams, and waits until all are current.
    init(_ server: ServerProcess, _ collection: String, connections: Int, streams: Int) throws {
        count = connections * streams
        let request = try Requests.listen(Requests.query(collection))
        for _ in 0..<connections {
            let connection = try WireConnection(port: server.port)
            try connection.listen(request, streams: streams)
            let reader = Reader(connection: connection)
            Thread.detachNewThread { self.read(reader.connection) }
        }
    }

    /// Waits until all listeners have received a change.
    ///
    /// - Returns: the time of the last.
    func waitUntilTold() throws -> Double {
        guard allTold.wait(timeout: .now() + 60) == .success else {
            throw WireConnection.Problem(description: "listeners did not receive a change")
        }
        return try state.withLock { state in
            if let failure = state.failure { throw failure }
            state.toldCount = 0
            return state.lastTold
        }
    }

    /// Counts the streams that receive a complete change, until the server ends.
    private func read(_ connection: WireConnection) {
        var waiting: Set<UInt32> = []
        do {
            while true {
                guard case .message(let stream, let bytes) = try connection.next() else {
                    throw WireConnection.Problem(description: "a Listen stream has ended")
                }
                if Told.isDocument(bytes) {
                    waiting.insert(stream)
                } else if waiting.remove(stream) != nil {
                    noteTold()
                }
            }
        } catch {
            state.withLock { $0.failure = error }
            allTold.signal()
        }
    }

    private func noteTold() {
        let isLast = state.withLock { state in
            state.toldCount += 1
            state.lastTold = Clock.wall
            return state.toldCount == count
        }
        if isLast { allTold.signal() }
    }
}

extension WireConnection {
    /// Opens Listen streams and reads until they are current and their first snapshot is complete.
    func listen(_ request: [UInt8], streams count: Int) throws {
        var waiting: Set<UInt32> = []
        var current: Set<UInt32> = []
        for _ in 0..<count {
            let stream = open("Listen")
            try send(request, on: stream, isLast: false)
            waiting.insert(stream)
        }
        while !waiting.isEmpty {
            guard case .message(let stream, let bytes) = try next() else {
                throw Problem(description: "a Listen stream has ended")
            }
            if try Told.isCurrent(bytes) {
                current.insert(stream)
            } else if current.contains(stream) {
                waiting.remove(stream)
            }
        }
    }
}
