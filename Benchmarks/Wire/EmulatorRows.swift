import BenchmarkMeasuring
import Foundation

/// The common calls of clients, in comparison with Google's emulator.
struct EmulatorRows {
    let run: Run

    private static let collection = "cities"
    private static let documentCount = 2_000
    private static let factor = 3.0

    /// A kind of call and its number per round, chosen for similar durations.
    private struct Kind {
        let id: String
        let title: String
        let count: Int
        let call: Load.Call
    }

    /// Durable, unlike those of the emulator.
    private static let sets = sets("sets", "sets per second, durable versus in memory")
    /// Both in memory.
    private static let setsInMemory = sets("setsInMemory", "sets per second, both in memory")

    private static func sets(_ id: String, _ title: String) -> Kind {
        Kind(
            id: id, title: title, count: 16_000,
            call: Load.Call(method: "Commit") { number in
                try Requests.commit([
                    Requests.document(collection, number % documentCount, revision: number)
                ])
            })
    }

    private static let kinds = [
        sets,
        Kind(
            id: "gets", title: "gets per second", count: 24_000,
            call: Load.Call(method: "BatchGetDocuments") {
                try Requests.get(collection, $0 % documentCount)
            }),
        Kind(
            id: "queries", title: "queries of 20 results per second", count: 800,
            call: Load.Call(method: "RunQuery") {
                try Requests.run(Requests.query(collection, group: group($0)))
            }),
        Kind(
            id: "listens", title: "listens of 20 results until they are current, per second",
            count: 800,
            call: Load.Call(
                method: "Listen",
                message: { try Requests.listen(Requests.query(collection, group: group($0))) },
                isListening: true)),
    ]

    private static func group(_ number: Int) -> Int {
        number % (documentCount / Requests.groupCount)
    }

    func callAsFunction() throws {
        guard let emulator = run.emulator else {
            run.report.add(
                Row(
                    id: "emulator", title: "comparison with Google's emulator",
                    note: "skipped: cloud_firestore_emulator is not installed"))
            return
        }
        let servers: [(ServerProcess.Kind, ServerProcess)] = [
            (.larderd, try run.startServer("emulator")),
            (.emulator, try ServerProcess.emulator(emulator)),
        ]
        for (_, server) in servers {
            try run.load(server, Self.collection, count: Self.documentCount)
        }
        try measureFloor(servers[0].1)
        for kind in Self.kinds { try measure(kind, servers) }
        addMemory(servers)
        servers[0].1.stop()
        try measure(Self.setsInMemory, [(.larderd, try run.startServerInMemory()), servers[1]])
    }

    private func measure(_ kind: Kind, _ servers: [(ServerProcess.Kind, ServerProcess)]) throws {
        var figures: [ServerProcess.Kind: [Load.Figure]] = [:]
        let count = run.count(kind.count, quick: kind.count / 8)
        let loads = servers.map {
            ($0.0, Load($0.1, connections: 4, callsAtATime: 8))
        }
        for (_, load) in loads { try warmUp(load, kind, count: count) }
        for _ in 0..<run.rounds {
            for (server, load) in loads {
                // Background work of one server must not affect the other's turn.
                for (_, server) in servers { server.rest() }
                figures[server, default: []].append(try load.run(kind.call, count: count))
            }
        }
        guard let larderd = figures[.larderd], let emulator = figures[.emulator] else { return }
        let ratio = Summary(zip(larderd, emulator).map { $0.rate / $1.rate }).median
        let busy = Summary(zip(larderd, emulator).map { $1.processorEach / $0.processorEach })
            .median
        let generator = Row.Line(
            label: "client, processor time of each",
            value: (larderd + emulator).map { $0.generator / Double($0.calls) }.series(1e6),
            unit: "us")
        run.report.add(
            Row(
                id: "emulator.\(kind.id)", title: kind.title,
                lines: ServerProcess.Kind.allCases.flatMap { server in
                    let all = figures[server] ?? []
                    return [
                        Row.Line(
                            label: server.rawValue, value: Summary(all.map(\.rate)), unit: "/s"),
                        Row.Line(
                            label: "\(server.rawValue), processor time of each",
                            value: Summary(all.map { $0.processorEach * 1e6 }), unit: "us"),
                    ]
                } + [generator],
                verdict: Row.Verdict(
                    reached: ratio, direction: .atLeast, limit: Self.factor, unit: "times",
                    byProcessor: busy)))
    }

    /// Makes calls until they are no longer becoming faster, as Java's do for a while.
    private func warmUp(_ load: Load, _ kind: Kind, count: Int) throws {
        var (best, idleCount) = (0.0, 0)
        for _ in 0..<run.count(20, quick: 1) where idleCount < 3 {
            let rate = try load.run(kind.call, count: count).rate
            idleCount = rate > best * 1.03 ? 0 : idleCount + 1
            best = max(best, rate)
        }
    }

    /// A call without effect: the share of HTTP/2 and gRPC in each call.
    private func measureFloor(_ server: ServerProcess) throws {
        let load = Load(server, connections: 4, callsAtATime: 8)
        let call = Load.Call(method: "Rollback") { _ in try Requests.rollBackNothing() }
        let count = run.count(24_000, quick: 3_000)
        _ = try load.run(call, count: count)
        let figures = try (0..<run.rounds).map { _ in try load.run(call, count: count) }
        run.report.add(
            Row(
                id: "emulator.floor",
                title: "calls of larderd without effect: HTTP/2's and gRPC's share",
                lines: [
                    .init(label: "larderd", value: Summary(figures.map(\.rate)), unit: "/s"),
                    .init(
                        label: "larderd, processor time of each",
                        value: Summary(figures.map { $0.processorEach * 1e6 }), unit: "us"),
                ]))
    }

    private func addMemory(_ servers: [(ServerProcess.Kind, ServerProcess)]) {
        let bytes = servers.map { ($0.0.rawValue, $0.1.residentBytes / 1_048_576) }
        run.report.add(
            Row(
                id: "emulator.memory", title: "resident memory after these",
                lines: bytes.map { Row.Line(label: $0.0, value: Summary([$0.1]), unit: "MiB") },
                verdict: Row.Verdict(
                    reached: bytes[0].1 / bytes[1].1, direction: .atMost, limit: 0.1,
                    unit: "times")))
    }
}

/// Commits that share a disk flush.
struct CommitRow {
    let run: Run

    func callAsFunction() throws {
        let server = try run.startServer("commits")
        let one = Load(server, connections: 1, callsAtATime: 1)
        let many = Load(server, connections: 32, callsAtATime: 1)
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
                        label: "one connection", value: Summary(figures.map(\.one.rate)),
                        unit: "/s"),
                    .init(
                        label: "32 connections", value: Summary(figures.map(\.many.rate)),
                        unit: "/s"),
                    .init(
                        label: "32 connections, processor time of each",
                        value: Summary(figures.map { $0.many.processorEach * 1e6 }), unit: "us"),
                ],
                verdict: .init(
                    reached: Summary(figures.map { $0.many.rate / $0.one.rate }).median,
                    direction: .atLeast, limit: 5, unit: "times one connection")))
    }
}
