import BenchmarkMeasuring
import Foundation
import LarderRealtimeBackend
import LarderRealtimeModel

/// A database that is written with one REST request, beside storing its leaves in a process.
struct ImportRow {
    let run: Run

    private static let timeLimit = 3.0
    private static let memoryLimit = 64.0
    private static let mebibyte = 1_048_576.0

    private struct Figure {
        var wall = 0.0
        var processor = 0.0
        /// The largest resident memory, with mapped files, above that before the request.
        var growth = 0.0
        /// The same, above that after the request, when the data is in memory.
        var excess = 0.0
    }

    func callAsFunction() async throws {
        let text = Self.text(bytes: run.count(100_000_000, quick: 5_000_000))
        var (imports, stores): ([Figure], [Elapsed]) = ([], [])
        for round in 0..<min(run.rounds, 3) {
            stores.append(try await RESTImport.store(text, in: run.path("store-\(round)")))
            imports.append(try send(text, round))
        }
        let ratios = zip(imports, stores).map { ($0.wall / $1.wall, $0.processor / $1.processor) }
        run.report.add(
            Row(
                id: "import", title: "REST import of \(text.count / 1_000_000) MB, on disk",
                lines: [
                    .init(label: "import", value: imports.map(\.wall).series(1), unit: "s"),
                    .init(
                        label: "import, processor time of the server",
                        value: imports.map(\.processor).series(1), unit: "s"),
                    .init(
                        label: "storing the leaves in a process",
                        value: stores.map(\.wall).series(1),
                        unit: "s"),
                ],
                verdict: .init(
                    reached: Summary(ratios.map(\.0)).median, direction: .atMost,
                    limit: Self.timeLimit, unit: "times storing",
                    byProcessor: Summary(ratios.map(\.1)).median)))
        run.report.add(
            Row(
                id: "import.memory", title: "memory of the server in that",
                lines: [
                    .init(
                        label: "peak above that with the data",
                        value: imports.map(\.excess).series(1 / Self.mebibyte), unit: "MiB")
                ],
                verdict: .init(
                    reached: Summary(imports.map(\.growth)).median / Self.mebibyte,
                    direction: .atMost, limit: Self.memoryLimit, unit: "MiB above idle"),
                note: "with the data itself: trees of open namespaces are in memory"))
    }

    private func send(_ text: [UInt8], _ round: Int) throws -> Figure {
        let server = try run.startServer("import-\(round)")
        _ = try RESTImport.send("PUT", "/warm.json", Array("1".utf8), server)
        server.rest()
        var figure = Figure()
        let (idle, processor, wall) = (server.residentBytes, server.processorTime, Clock.wall)
        let peak = PeakMemory(of: server)
        let response = try RESTImport.send("PUT", "/data.json", text, server)
        figure.wall = Clock.wall - wall
        figure.processor = server.processorTime - processor
        let most = peak.end()
        server.rest()
        figure.growth = most - idle
        figure.excess = most - server.residentBytes
        guard response.contains(" 204 ") else {
            throw WireConnection.Problem(description: "the import failed: \(response)")
        }
        server.stop()
        try FileManager.default.removeItem(atPath: run.path("import-\(round)"))
        return figure
    }

    /// Rooms of 100 messages with five leaves each, as JSON of a size.
    private static func text(bytes: Int) -> [UInt8] {
        var text = Array("{".utf8)
        text.reserveCapacity(bytes + 100_000)
        var (room, number) = (0, 0)
        while text.count < bytes {
            if room > 0 { text.append(UInt8(ascii: ",")) }
            text += Array("\"room\(room)\":{".utf8)
            for message in 0..<100 {
                if message > 0 { text.append(UInt8(ascii: ",")) }
                number += 1
                let words = String(repeating: "the message \(number &* 2_654_435_761) ", count: 4)
                text += Array(
                    #""m\#(1_000_000 + number)":{"at":\#(1_700_000_000_000 + number * 977),"likes":\#(number % 17),"read":\#(number % 3 == 0),"text":"\#(words)","uid":"user\#(number % 1009)"}"#
                        .utf8)
            }
            text.append(UInt8(ascii: "}"))
            room += 1
        }
        return text + Array("}".utf8)
    }
}

/// What rows share that write trees.
enum RESTImport {
    /// Stores a tree in this process, durably, in a directory that is removed.
    static func store(_ text: [UInt8], in directory: String) async throws -> Elapsed {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let node = try text.withUnsafeBytes { try Node(parsing: $0) }
        let backend = try RealtimeBackend(directory: directory)
        let start = Elapsed.now
        _ = await withCheckedContinuation { continuation in
            backend.write(TreeWrite(.root, node)) { continuation.resume(returning: $0) }
        }
        let elapsed = Elapsed.now - start
        try await backend.close()
        try FileManager.default.removeItem(atPath: directory)
        return elapsed
    }

    /// Sends a request of an administrator; the head of the response.
    static func send(
        _ method: String, _ path: String, _ body: [UInt8], _ server: ServerProcess
    ) throws -> String {
        let socket = try PlainSocket(port: server.port)
        let lines = [
            "\(method) \(path)?ns=bench&print=silent HTTP/1.1", "Host: localhost",
            "Authorization: Bearer owner", "Content-Length: \(body.count)", "", "",
        ]
        try socket.send(Array(lines.joined(separator: "\r\n").utf8))
        try socket.send(body)
        var bytes: [UInt8] = []
        let end = Array("\r\n\r\n".utf8)
        while !bytes.contains(end) { try socket.receive(into: &bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Samples the resident memory of a server.
private final class PeakMemory: @unchecked Sendable {
    // The thread alone uses `peak` until it has ended.
    private let isDone = DispatchSemaphore(value: 0)
    private let hasEnded = DispatchSemaphore(value: 0)
    private var peak = 0.0

    init(of server: ServerProcess) {
        let process = server.identifier
        Thread.detachNewThread { [self] in
            repeat {
                peak = max(peak, Double(ProcessStatus.bytes("VmRSS", of: process)))
            } while isDone.wait(timeout: .now() + 0.005) == .timedOut
            hasEnded.signal()
        }
    }

    /// Ends sampling; the largest number of bytes.
    func end() -> Double {
        isDone.signal()
        hasEnded.wait()
        return peak
    }
}
