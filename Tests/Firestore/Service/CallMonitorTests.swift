import GRPCCore
import LarderModel
import LarderWire
import Metrics
import MetricsTestKit
import NIOHTTP2
import SwiftProtobuf
import Testing

@testable import LarderServer

@Suite("Server: metrics of calls")
struct CallMonitorTests {
    private typealias Method = Google_Firestore_V1_Firestore.Method

    private let metrics: TestMetrics
    private let test: ServiceUnderTest

    init() {
        let metrics = TestMetrics()
        self.metrics = metrics
        test = withMetricsFactory(metrics) { ServiceUnderTest() }
    }

    private func count(_ method: String, _ code: String) throws -> Int64 {
        try metrics.expectCounter("larder_server_calls", [("method", method), ("code", code)])
            .totalValue
    }

    private func times(_ method: String) throws -> [Double] {
        try metrics.expectTimer("larder_server_call_seconds", [("method", method)]).values
            .map { Double($0) }
    }

    @Test("Calls by method and code, and how long they took")
    func calls() async throws {
        let client = try await TestConnection(test.service.methods)
        try await test.fill("c", 0..<1)
        for (number, id) in ["0000", "none", "0000", "none", "none"].enumerated() {
            let stream = HTTP2StreamID(2 * number + 1)
            try await client.open("GetDocument", on: stream)
            let request = Google_Firestore_V1_GetDocumentRequest.with {
                $0.name = "\(test.root)/c/\(id)"
            }
            try await client.send(TestConnection.framed(request), on: stream, isLast: true)
            _ = try await client.answer(stream)
        }
        #expect(try count("GetDocument", "ok") == 2 && count("GetDocument", "notFound") == 3)
        #expect(try count("Commit", "ok") == 0)
        let times = try times("GetDocument")
        #expect(times.count == 5 && times.allSatisfy { $0 > 0 && $0 < 600e9 })
    }

    @Test("Streams that are open, and how they ended")
    func streams() async throws {
        let gauge = try metrics.expectGauge("larder_server_streams")
        let client = try await TestConnection(test.service.methods)
        for stream: HTTP2StreamID in [1, 3] { try await client.open("Listen", on: stream) }
        #expect(gauge.values == [1, 2])
        try await client.send([], on: 1, isLast: true)
        _ = try await client.answer(1)
        try await client.close(3)
        #expect(gauge.values == [1, 2, 1, 0])
        #expect(try count("Listen", "ok") == 1 && count("Listen", "cancelled") == 1)
    }

    @Test("Databases that are open")
    func databases() async throws {
        let gauge = try metrics.expectGauge("larder_server_databases")
        #expect(gauge.values.isEmpty)
        try await test.fill("c", 0..<1)
        try await test.fill("c", 1..<2)
        #expect(gauge.lastValue == 1)
    }
}
