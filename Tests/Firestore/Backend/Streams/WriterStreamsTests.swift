import LarderModel
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderBackend

@Suite("Backend: writes that arrive late")
struct WriterStreamsTests {
    private let backend: TestBackend

    init() throws {
        backend = try TestBackend()
    }

    /// A stream whose handshake is answered.
    private func open() -> WriteProbe {
        let probe = WriteProbe(backend.backend)
        backend.run()
        return probe
    }

    private func send(
        _ write: String, by writer: String? = nil, after former: [String] = [],
        answered: [String] = [], on probe: WriteProbe
    ) throws {
        let token = WriteToken(
            client: "c", write: write, answered: answered, writer: writer, former: former)
        probe.write(try .patch("c/a", [:], transforms: [.init("n", .increment(1))]), once: token)
        backend.run()
    }

    private func expect(
        sum: Int64, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(try backend.fields("c/a")?["n"] == .integer(sum), sourceLocation: sourceLocation)
    }

    private func expectRefused(
        _ probe: WriteProbe, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(probe.current.ending??.kind == .aborted, sourceLocation: sourceLocation)
    }

    @Test("are refused on a stream if the process writes on a later one")
    func sameProcess() throws {
        let (one, two) = (open(), open())
        try send("1", by: "v", on: one)
        try send("2", by: "v", on: two)
        try send("3", answered: ["2"], on: two)
        try send("2", on: one)
        expectRefused(one)
        try expect(sum: 3)
        try send("4", on: two)
        try expect(sum: 4)
    }

    @Test("are refused on streams of earlier processes, whether these had written or not")
    func formerProcess() throws {
        let (begun, unused, idle) = (open(), open(), open())
        try send("1", by: "u", on: begun)
        let next = open()
        try send("2", by: "w", after: ["u", "v"], on: next)
        try send("3", answered: ["1", "2"], on: next)
        try send("1", on: begun)
        expectRefused(begun)
        // Its first write arrives now.
        try send("2", by: "v", after: ["u"], on: unused)
        expectRefused(unused)
        try expect(sum: 3)
        try send("4", by: "x", after: ["y"], on: idle)
        #expect(idle.current.ending == nil)
        try send("5", on: next)
        try expect(sum: 5)
    }

    @Test("are made if processes take turns, each on a new stream")
    func turns() throws {
        let names = ["v", "w"]
        for turn in 0..<6 {
            let probe = open()
            try send(
                "\(turn)", by: names[turn % 2], after: [names[(turn + 1) % 2]], on: probe)
            #expect(probe.current.ending == nil)
        }
        try expect(sum: 6)
    }

    @Test("are made on all streams of a client that names no process")
    func unnamed() throws {
        let (one, two) = (open(), open())
        for (number, probe) in [one, two, one, two].enumerated() {
            try send("\(number)", on: probe)
        }
        try expect(sum: 4)
    }

    @Test("the number of known processes is limited")
    func limit() {
        var streams = WriterStreams(limit: 100)
        for number in 1...1_000 {
            let former = (0..<8).map { "\(number)-\($0)" }
            streams.begin("\(number)", after: former, on: StreamID(number))
            #expect(streams.isLatest(StreamID(number), of: "\(number)"))
            #expect(streams.count <= 100)
        }
        for number in 997...1_000 { #expect(!streams.isLatest(1, of: "\(number)-7")) }
        #expect(streams.isLatest(1, of: "1"))
    }
}
