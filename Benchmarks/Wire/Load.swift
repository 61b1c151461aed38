import BenchmarkMeasuring
import Foundation
import Synchronization

/// Calls to a server on several connections, each with its own thread.
final class Load {
    /// A repeated call.
    struct Call {
        let method: String
        /// The message of a call by its number, which is unique in the load.
        let message: @Sendable (Int) throws -> [UInt8]
        /// Whether the response continues until it is ended by the client: here at the current
        /// target.
        var isListening = false
    }

    /// The cost of a number of calls.
    struct Figure {
        var wall: Double
        /// The processor time of the server, in seconds.
        var processor: Double
        /// The processor time of the calling threads, in seconds.
        var generator: Double
        var calls: Int

        var rate: Double { Double(calls) / wall }
        /// The server's processor time per call.
        var processorEach: Double { processor / Double(calls) }
    }

    private struct Connections: @unchecked Sendable {
        // Each is used by one thread at a time.
        let all: [WireConnection]
    }

    let server: ServerProcess
    private let connectionCount: Int
    let callsAtATime: Int
    private var firstNumber = 0

    init(_ server: ServerProcess, connections count: Int, callsAtATime: Int) {
        self.server = server
        self.callsAtATime = callsAtATime
        connectionCount = count
    }

    /// Makes a number of calls, on new connections, and measures them.
    ///
    /// Connections that rest while another server is measured do not answer pings, and the server
    /// closes them after a while.
    func run(_ call: Call, count: Int) throws -> Figure {
        let connections = Connections(
            all: try (0..<connectionCount).map { _ in try WireConnection(port: server.port) })
        let share = max(1, count / connections.all.count)
        let (callsAtATime, first) = (callsAtATime, firstNumber)
        firstNumber += share * connections.all.count
        let (startWall, startProcessor) = (Clock.wall, server.processorTime)
        let startGenerator = Clock.processor
        try Threads.run(connections.all.count) { thread in
            try Self.run(
                call, numbers: (first + thread * share)..<(first + (thread + 1) * share),
                on: connections.all[thread], callsAtATime: callsAtATime)
        }
        return Figure(
            wall: Clock.wall - startWall, processor: server.processorTime - startProcessor,
            generator: Clock.processor - startGenerator, calls: share * connections.all.count)
    }

    private static func run(
        _ call: Call, numbers: Range<Int>, on connection: WireConnection, callsAtATime: Int
    ) throws {
        var numbers = numbers
        var open = 0
        func begin() throws {
            guard let number = numbers.popFirst() else { return }
            let stream = connection.open(call.method)
            try connection.send(try call.message(number), on: stream, isLast: !call.isListening)
            open += 1
        }
        for _ in 0..<callsAtATime { try begin() }
        while open > 0 {
            switch try connection.next() {
            case .message(let stream, let bytes):
                if call.isListening, try Told.isCurrent(bytes) { connection.end(stream) }
            case .ended:
                open -= 1
                try begin()
            }
        }
    }
}

/// Threads that may block.
enum Threads {
    /// Runs a closure on a number of threads, with their indices, and waits for them.
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
        let group = DispatchGroup()
        let failure = Failure()
        for number in 0..<count {
            group.enter()
            Thread.detachNewThread {
                do {
                    try body(number)
                } catch {
                    failure.note(error)
                }
                group.leave()
            }
        }
        group.wait()
        try failure.check()
    }

    private final class Failure: Sendable {
        private let first = Mutex<(any Error)?>(nil)

        func note(_ error: any Error) { first.withLock { $0 = $0 ?? error } }
        func check() throws { if let error = first.withLock({ $0 }) { throw error } }
    }
}
