import GRPCCore
import LarderGRPC
import LarderModel
import LarderRemote
import LarderTestSupport
import LarderWire
import SwiftProtobuf
import Testing

@Suite("Backpressure: responses without demand", .timeLimit(.minutes(10)))
struct BackpressureTests {
    /// Several times what the sockets of a machine may hold of messages of 100 KB.
    private static let count = 1_500

    /// A server whose Listen streams say a lot at once.
    private static func chattyServer() async throws -> TestServer {
        let server = try await TestServer.started()
        server.setListenScript { messages, writer in
            let bytes = String(repeating: "x", count: 100_000)
            for number in 0..<count {
                var response = Google_Firestore_V1_ListenResponse()
                response.documentChange.document.name =
                    "projects/p/databases/(default)/documents/c/d\(number)"
                response.documentChange.document.updateTime.seconds = 1
                response.documentChange.document.fields = [
                    .with {
                        $0.key = "s"
                        $0.value.stringValue = bytes
                    }
                ]
                response.documentChange.targetIds = [2]
                try await writer.write(response)
                server.listenResponses.change { $0 += 1 }
            }
            for try await _ in messages {}
        }
        return server
    }

    @Test("stays with the server, and comes when the client is")
    func waits() async throws {
        let server = try await Self.chattyServer()
        let cloud = try server.client()
        let watch = WatchProbe(
            cloud.connection.remote, DatabaseID(project: TestServer.project), demand: 3)
        await watch.wait { $0.heard.count == 4 }
        // What has no bound is all here by the time that calls after it are answered.
        for _ in 0..<20 {
            _ = await withCheckedContinuation { continuation in
                cloud.connection.remote.commit([], as: Credentials()) {
                    continuation.resume(returning: $0)
                }
            }
        }
        #expect(watch.mirror.heard.count == 4)
        #expect(server.listenResponses.value < Self.count * 4 / 5)
        watch.demand(Self.count)
        await watch.wait { $0.heard.count == Self.count + 1 }
        watch.close()
        await cloud.close()
        try await server.close()
    }

    @Test("does not keep the stream from ending")
    func ends() async throws {
        let server = try await Self.chattyServer()
        let cloud = try server.client()
        let watch = WatchProbe(
            cloud.connection.remote, DatabaseID(project: TestServer.project), demand: 1)
        await watch.wait { $0.heard.count == 2 }
        watch.close()
        await server.endedStreams.wait { $0 == 1 }
        await cloud.close()
        try await server.close()
    }

    @Test("a message beyond the limit ends its stream")
    func limit() async throws {
        let server = try await Self.chattyServer()
        let cloud = try server.client { $0.maxMessageBytes = 50_000 }
        let watch = WatchProbe(cloud.connection.remote, DatabaseID(project: TestServer.project))
        await watch.wait { $0.ending != nil }
        #expect(watch.mirror.ending?.flatMap { $0 } != nil)
        #expect(watch.mirror.heard.filter { $0 != "opened" }.count == 1)
        await cloud.close()
        try await server.close()
    }
}
