import BenchmarkMeasuring
import Foundation

/// Puts of one leaf over WebSockets, beside an echo of the same frames.
struct PutsRow {
    let run: Run

    private static let connections = 32
    /// The messages of a connection on their way.
    private static let inFlight = 8
    private static let limit = 0.4

    /// The connections to a server.
    private struct Clients: @unchecked Sendable {
        // Each is used by one thread at a time.
        let all: [FrameSocket]

        init(_ server: ServerProcess, greets: Bool) throws {
            all = try (0..<PutsRow.connections).map { _ in
                let socket = try FrameSocket(port: server.port)
                if greets { _ = try socket.receive() }
                return socket
            }
        }
    }

    func callAsFunction() throws {
        let server = try run.startServerInMemory()
        let floor = try run.startEchoServer()
        let clients = (try Clients(server, greets: true), try Clients(floor, greets: false))
        let count = run.count(40_000, quick: 4_000)
        var figures: (puts: [Load.Figure], echoes: [Load.Figure]) = ([], [])
        for round in 0...run.rounds {
            let puts = try measure(server, clients.0, count)
            let echoes = try measure(floor, clients.1, count)
            // The first round warms up.
            guard round > 0 else { continue }
            figures.puts.append(puts)
            figures.echoes.append(echoes)
        }
        let pairs = zip(figures.puts, figures.echoes)
        run.report.add(
            Row(
                id: "puts", title: "puts of one leaf from 32 connections, in memory",
                lines: [
                    .init(label: "puts", value: figures.puts.map(\.rate).series(1), unit: "/s"),
                    .init(label: "echoes", value: figures.echoes.map(\.rate).series(1), unit: "/s"),
                    .init(
                        label: "a put, processor time of the server",
                        value: figures.puts.map(\.processorEach).series(1e6), unit: "us"),
                    .init(
                        label: "an echo, processor time of the server",
                        value: figures.echoes.map(\.processorEach).series(1e6), unit: "us"),
                ],
                verdict: .init(
                    reached: Summary(pairs.map { $0.rate / $1.rate }).median,
                    direction: .atLeast, limit: Self.limit, unit: "of the echoes",
                    byProcessor: Summary(pairs.map { $1.processorEach / $0.processorEach }).median
                )))
        try addRule(put: Summary(figures.puts.map(\.processorEach)).median)
        server.stop()
        floor.stop()
    }

    /// Compares a rule with the processor time of a put.
    private func addRule(put: Double) throws {
        let costs = try (0..<run.rounds).map { _ in
            try RuleCost.measure(evaluations: run.count(200_000, quick: 20_000))
        }
        run.report.add(
            Row(
                id: "puts.rule",
                title: "the rule auth.uid === $uid && newData.child('t').isNumber()",
                lines: [.init(label: "an evaluation", value: costs.series(1e6), unit: "us")],
                verdict: .init(
                    reached: Summary(costs).median / put, direction: .atMost, limit: 0.1,
                    unit: "of a put's processor time")))
    }

    private func measure(
        _ server: ServerProcess, _ clients: Clients, _ count: Int
    ) throws -> Load.Figure {
        let share = count / Self.connections
        let start = (Clock.wall, server.processorTime, Clock.processor)
        try Threads.run(Self.connections) { thread in
            let socket = clients.all[thread]
            for batch in 0..<share / Self.inFlight {
                try socket.send(
                    (0..<Self.inFlight).map { Self.put(thread, batch * Self.inFlight + $0) })
                for _ in 0..<Self.inFlight { _ = try socket.receive() }
            }
        }
        return Load.Figure(
            wall: Clock.wall - start.0, processor: server.processorTime - start.1,
            generator: Clock.processor - start.2,
            calls: share / Self.inFlight * Self.inFlight * Self.connections)
    }

    private static func put(_ thread: Int, _ number: Int) -> [UInt8] {
        Array(
            #"{"t":"d","d":{"r":\#(number),"a":"p","b":{"p":"/c/\#(thread)","d":\#(number)}}}"#
                .utf8)
    }
}
