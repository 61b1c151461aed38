import GRPCCore
import LarderGRPC
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Metrics
import MetricsTestKit
import Testing

@Suite("The metrics of a connection", .timeLimit(.minutes(10)))
struct RemoteMetricsTests {
    private let metrics = TestMetrics()

    private func count(_ label: String, _ dimensions: [(String, String)] = []) throws -> Int64 {
        try metrics.expectCounter("larder_remote_\(label)", dimensions).totalValue
    }

    @Test("calls by method and status, how long they took, and connections")
    func calls() async throws {
        let server = try await TestServer.started()
        let cloud = try withMetricsFactory(metrics) { try server.client() }
        let path = try DocumentPath("c/d")
        for precondition in [Precondition.none, .exists(false), .exists(false)] {
            let mutation = Mutation(.set(try Record([:])), at: path, precondition: precondition)
            _ = await withCheckedContinuation { continuation in
                cloud.connection.remote.commit([mutation], as: Credentials()) {
                    continuation.resume(returning: $0)
                }
            }
        }
        #expect(try count("calls", [("method", "Commit"), ("status", "ok")]) == 1)
        #expect(try count("calls", [("method", "Commit"), ("status", "alreadyExists")]) == 2)
        let times = try metrics.expectTimer(
            "larder_remote_call_seconds", [("method", "Commit")]
        ).values
        #expect(times.count == 3 && times.allSatisfy { $0 > 0 })
        #expect(try count("connections") == 1)
        await cloud.close()
        try await server.close()
    }

    @Test("streams, their messages each way, and how they ended")
    func streams() async throws {
        let server = try await TestServer.started()
        let cloud = try withMetricsFactory(metrics) { try server.client() }
        let probe = WriteProbe(cloud.connection.remote)
        await probe.wait(\.hasHandshake)
        probe.write(Mutation(.delete, at: try DocumentPath("c/d")))
        await probe.wait { $0.responses.count == 1 }
        server.breakStreams(RPCError(code: .unavailable, message: ""))
        await probe.wait { $0.ending != nil }
        let write = ("method", "Write")
        #expect(try count("streams", [write]) == 1)
        #expect(try count("messages", [write, ("direction", "sent")]) == 2)
        #expect(try count("messages", [write, ("direction", "received")]) == 2)
        #expect(try count("stream_ends", [write, ("status", "unavailable")]) == 1)
        #expect(try count("streams", [("method", "Listen")]) == 0)
        await cloud.close()
        try await server.close()
    }
}
