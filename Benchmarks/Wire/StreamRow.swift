import BenchmarkMeasuring
import Foundation
import GRPCCore
import LarderBackend
import LarderModel
import LarderQuery
import LarderRemote
import LarderWire
import SwiftProtobuf

/// A query of many documents over a socket, in comparison with the same query in the process.
struct StreamRow {
    let run: Run

    private static let collection = "cities"
    private static let factor = 2.0

    func callAsFunction() async throws {
        let count = run.count(10_000, quick: 1_000)
        let loader = try run.startServer("stream")
        try run.load(loader, Self.collection, count: count, isLarge: true)
        loader.stop()
        let copy = run.path("stream-copy")
        try FileManager.default.copyItem(atPath: run.path("stream"), toPath: copy)
        var configuration = BackendConfiguration(
            project: Requests.project,
            location: .directory("\(copy)/\(Requests.project)/(default)"))
        configuration.database = "(default)"
        let backend = try Backend(configuration)
        let server = try run.startServer("stream")
        let load = Load(server, connections: 1, callsAtATime: 1)
        let call = Load.Call(method: "RunQuery") { _ in
            try Requests.run(Requests.query(Self.collection))
        }
        var figures: (wire: [Load.Figure], floor: [(wall: Double, busy: Double)]) = ([], [])
        for round in 0...run.rounds {
            let wire = try load.run(call, count: run.count(20, quick: 5))
            let floor = try readAndEncode(backend, count: count)
            guard round > 0 else { continue }
            figures.wire.append(wire)
            figures.floor.append(floor)
        }
        try await backend.close()
        let wire = figures.wire.map { $0.wall / Double($0.calls) }
        let busy = figures.wire.map(\.processorEach)
        run.report.add(
            Row(
                id: "stream", title: "RunQuery of \(count) documents of 1 KB",
                lines: [
                    .init(label: "over a socket", value: wire.series(1e3), unit: "ms"),
                    .init(
                        label: "the same, processor time of the server",
                        value: busy.series(1e3), unit: "ms"),
                    .init(
                        label: "read and encoded in the process",
                        value: figures.floor.map(\.wall).series(1e3), unit: "ms"),
                ],
                verdict: .init(
                    reached: Summary(zip(wire, figures.floor).map { $0 / $1.wall }).median,
                    direction: .atMost, limit: Self.factor, unit: "times",
                    byProcessor: Summary(zip(busy, figures.floor).map { $0 / $1.busy }).median)))
    }

    /// Reads all documents and encodes their messages on this thread.
    private func readAndEncode(
        _ backend: Backend, count: Int
    ) throws -> (wall: Double, busy: Double) {
        let coder = MessageCoder(
            DatabaseID(project: Requests.project, database: "(default)"))
        let serializer = ResponseSerializer<Google_Firestore_V1_RunQueryResponse>()
        let query = Query(.collection(try CollectionPath(Self.collection)))
        let (wall, busy) = (Clock.wall, Clock.processor)
        var found = 0
        _ = try backend.runQuery(query, as: Credentials()) { document throws(LarderError) in
            let answer = try coder.encode(document, readTime: document.version)
            let bytes: [UInt8]? = try? serializer.serialize(answer)
            if bytes?.isEmpty == false { found += 1 }
            return .continue
        }
        guard found == count else {
            throw WireConnection.Problem(description: "\(found) documents instead of \(count)")
        }
        return (Clock.wall - wall, Clock.processor - busy)
    }
}

/// Idle listeners.
struct IdleRow {
    let run: Run

    private static let count = 1_000
    private static let limitBytes = 65_536.0

    func callAsFunction() throws {
        let server = try run.startServer("idle")
        try run.load(server, "cities", count: 2_000)
        // Excludes one-time costs.
        let first = try WireConnection(port: server.port)
        try first.listen(try request(0), streams: 1)
        let shared = try measure(
            server, connections: 20, id: "idle.memory",
            title: "memory of each of 1,000 idle listeners, 50 on a connection")
        let start = server.processorTime
        sleep(run.isQuick ? 2 : 10)
        let busy = server.processorTime - start
        run.report.add(
            Row(
                id: "idle.processor", title: "processor time of the server with them",
                lines: [
                    .init(
                        label: "in \(run.isQuick ? 2 : 10) seconds", value: Summary([busy * 1e3]),
                        unit: "ms")
                ],
                verdict: .init(
                    reached: busy * 1e3, direction: .atMost, limit: 0, unit: "ms")))
        let own = try measure(
            server, connections: Self.count, id: "idle.connections",
            title: "the same, each on its own connection")
        withExtendedLifetime((first, shared, own)) {}
    }

    /// Opens listeners and measures their cost on the server.
    ///
    /// - Returns: their connections, which keep them open.
    private func measure(
        _ server: ServerProcess, connections count: Int, id: String, title: String
    ) throws -> [WireConnection] {
        let before = server.residentBytes
        var connections: [WireConnection] = []
        for number in 0..<count {
            let connection = try WireConnection(port: server.port)
            try connection.listen(try request(number), streams: Self.count / count)
            connections.append(connection)
        }
        let each = (server.residentBytes - before) / Double(Self.count)
        run.report.add(
            Row(
                id: id, title: title,
                lines: [.init(label: "resident", value: Summary([each]), unit: "bytes")],
                verdict: .init(
                    reached: each, direction: .atMost, limit: Self.limitBytes, unit: "bytes")))
        sleep(1)
        return connections
    }

    private func request(_ number: Int) throws -> [UInt8] {
        try Requests.listen(Requests.query("cities", group: number % 100))
    }
}
