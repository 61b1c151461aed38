/// Commits that share a flush of the disk.
struct CommitRow {
    let run: Run

    func callAsFunction() throws {
        let server = try run.startServer("commits")
        let one = try Load(server, connections: 1, callsAtATime: 1)
        let many = try Load(server, connections: 32, callsAtATime: 1)
        let call = Load.Call(method: "Commit") {
            try Requests.commit([Requests.document("cities", $0 % 2_000, revision: $0)])
        }
        let count = run.count(4_000, quick: 200)
        _ = try one.run(call, count: count)
        _ = try many.run(call, count: count)
        var figures: [(one: Load.Figure, many: Load.Figure)] = []
        for _ in 0..<run.rounds {
            figures.append((try one.run(call, count: count), try many.run(call, count: 4 * count)))
        }
        run.report.add(
            Row(
                id: "commits", title: "durable commits of one document a second, 32 connections",
                lines: [
                    .init(
                        label: "one connection", value: Series(figures.map(\.one.rate)),
                        unit: "/s"),
                    .init(
                        label: "32 connections", value: Series(figures.map(\.many.rate)),
                        unit: "/s"),
                    .init(
                        label: "32 connections, processor time of each",
                        value: Series(figures.map { $0.many.processorEach * 1e6 }), unit: "us"),
                ],
                verdict: .init(
                    reached: Series(figures.map { $0.many.rate / $0.one.rate }).median,
                    direction: .atLeast, limit: 5, unit: "times one connection")))
    }
}
