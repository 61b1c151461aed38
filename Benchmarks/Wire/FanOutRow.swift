/// A commit until those who listen are told.
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
            figures.one.append(Series(oneTimes).median)
            figures.many.append(Series(manyTimes).median)
            figures.busy.append((server.processorTime - start) / Double(writes))
        }
        run.report.add(
            Row(
                id: "fanout", title: "a commit until 200 listeners on one query are told",
                lines: [
                    .init(label: "one", value: figures.one.series(1e6), unit: "us"),
                    .init(label: "200", value: figures.many.series(1e6), unit: "us"),
                    .init(
                        label: "both, processor time of the server",
                        value: figures.busy.series(1e6), unit: "us"),
                ],
                verdict: .init(
                    reached: Series(zip(figures.many, figures.one).map { $0 / $1 }).median,
                    direction: .atMost, limit: 3, unit: "times one listener")))
        server.stop()
    }

    private func time(
        _ writer: WireConnection, _ collection: String, _ revision: Int, _ listeners: Listeners
    ) throws -> Double {
        let commit = try Requests.commit([
            Requests.document(collection, revision % 20, revision: revision)
        ])
        let start = Clock.now
        try writer.send(commit, on: writer.open("Commit"), isLast: true)
        try writer.flush()
        let end = try listeners.waitUntilTold()
        while case .message = try writer.next() {}
        return end - start
    }
}

extension [Double] {
    /// The figures of a row, in another unit.
    func series(_ scale: Double) -> Series { Series(map { $0 * scale }) }
}
