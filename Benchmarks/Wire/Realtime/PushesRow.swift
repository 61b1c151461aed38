import BenchmarkMeasuring
import Foundation

/// A put, on disk, until all listeners of its location have it, beside a server of SwiftNIO that sends
/// the same bytes to as many connections.
struct PushesRow {
    let run: Run

    private static let listeners = 1_000
    private static let limit = 3.0

    func callAsFunction() throws {
        FrameSocket.raiseLimit()
        let count = run.count(Self.listeners, quick: 100)
        let server = try run.startServer(
            "pushes",
            arguments: [
                "--connections", "\(count + 10)", "--connections-per-address", "\(count + 10)",
            ]
        )
        let writer = try FrameSocket(port: server.port)
        _ = try writer.receive()
        let one = try listen("one", 1, server)
        let many = try listen("many", count, server)
        let floor = try run.startEchoServer(toAll: true)
        let connections = try (0..<count).map { _ in try FrameSocket(port: floor.port) }
        let writes = run.count(100, quick: 20)
        var figures: (one: [Double], many: [Double], busy: [Double]) = ([], [], [])
        var floors: (many: [Double], busy: [Double]) = ([], [])
        var number = 0
        for round in 0...run.rounds {
            var (oneTimes, manyTimes): ([Double], [Double]) = ([], [])
            let start = server.processorTime
            for _ in 0..<writes {
                number += 1
                oneTimes.append(try time(writer, "one", number, one))
                manyTimes.append(try time(writer, "many", number, many))
            }
            let busy = server.processorTime - start
            let floorStart = floor.processorTime
            let floorTimes = try (0..<writes).map { _ in
                try time(connections[0], "many", number, connections)
            }
            // The first round warms up.
            guard round > 0 else { continue }
            floors.many.append(Summary(floorTimes).median)
            floors.busy.append((floor.processorTime - floorStart) / Double(writes * count))
            figures.one.append(Summary(oneTimes).median)
            figures.many.append(Summary(manyTimes).median)
            figures.busy.append(busy / Double(writes * (count + 1)))
        }
        run.report.add(
            Row(
                id: "pushes", title: "a put until \(count) listeners of one location have it",
                lines: [
                    .init(label: "one", value: figures.one.series(1e6), unit: "us"),
                    .init(label: "\(count)", value: figures.many.series(1e6), unit: "us"),
                    .init(
                        label: "each push, processor time of the server",
                        value: figures.busy.series(1e6), unit: "us"),
                    .init(
                        label: "\(count), from SwiftNIO alone", value: floors.many.series(1e6),
                        unit: "us"),
                    .init(
                        label: "the same, processor time of that server",
                        value: floors.busy.series(1e6), unit: "us"),
                ],
                verdict: .init(
                    reached: Summary(zip(figures.many, figures.one).map { $0 / $1 }).median,
                    direction: .atMost, limit: Self.limit, unit: "times one listener")))
        server.stop()
        floor.stop()
    }

    /// Opens sockets that listen to a location.
    private func listen(
        _ location: String, _ count: Int, _ server: ServerProcess
    ) throws -> [FrameSocket] {
        let request = Array(
            #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/\#(location)","h":""}}}"#.utf8)
        return try (0..<count).map { _ in
            let socket = try FrameSocket(port: server.port)
            _ = try socket.receive()
            try socket.send([request])
            _ = try socket.receive()
            return socket
        }
    }

    /// The time from a put until the last listener has it.
    private func time(
        _ writer: FrameSocket, _ location: String, _ number: Int, _ listeners: [FrameSocket]
    ) throws -> Double {
        let put = Array(
            #"{"t":"d","d":{"r":\#(number),"a":"p","b":{"p":"/\#(location)/m","d":{"at":\#(number),"text":"the message \#(number)","uid":"user"}}}}"#
                .utf8)
        let start = Clock.wall
        try writer.send([put])
        for listener in listeners { _ = try listener.receive() }
        let end = Clock.wall
        // Of SwiftNIO's connections the writer is one.
        if writer !== listeners[0] { _ = try writer.receive() }
        return end - start
    }
}
