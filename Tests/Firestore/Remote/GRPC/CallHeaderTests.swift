import LarderGRPC
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Testing

@Suite("The headers of calls", .timeLimit(.minutes(10)))
struct CallHeaderTests {
    /// Makes a call of each kind, and gives what the server got.
    private func calls(_ cloud: CloudFirestore, _ server: TestServer) async throws
        -> [TestServer.Call]
    {
        let remote = cloud.connection.remote
        _ = try await CloudStreamTests.openStreams(cloud, server)
        let path = try DocumentPath("c/d")
        let query = Query(.collection(try CollectionPath("c")))
        _ = try await withCheckedContinuation { continuation in
            remote.commit([Mutation(.delete, at: path)], as: Credentials()) {
                continuation.resume(returning: $0)
            }
        }.get()
        _ = try await withCheckedContinuation { continuation in
            remote.read([path], as: Credentials()) { continuation.resume(returning: $0) }
        }.get()
        _ = try await withCheckedContinuation { continuation in
            remote.aggregate([.count], over: query.target, as: Credentials()) {
                continuation.resume(returning: $0)
            }
        }.get()
        return server.calls.value
    }

    @Test("each names the database, the client and its owner")
    func headers() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        let calls = try await calls(cloud, server)
        #expect(
            Set(calls.map(\.method))
                == ["Listen", "Write", "Commit", "BatchGetDocuments", "RunAggregationQuery"])
        for call in calls {
            let database = "projects/p/databases/(default)"
            #expect(call.header("google-cloud-resource-prefix") == [database])
            #expect(call.header("x-goog-request-params") == [database])
            #expect(call.header("authorization") == ["Bearer owner"])
            #expect(
                call.header("x-goog-api-client")
                    == ["gl-swift/6 larder/\(LarderVersion.text) grpc/2"])
            #expect(call.header("user-agent").count <= 1)
        }
        await cloud.close()
        try await server.close()
    }

    @Test("with one answer say how long it may take")
    func timeout() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client { $0.callTimeout = .seconds(40) }
        for call in try await calls(cloud, server) {
            let isStream = ["Listen", "Write"].contains(call.method)
            #expect(call.header("grpc-timeout") == (isStream ? [] : ["40000000u"]))
        }
        await cloud.close()
        try await server.close()
    }

    @Test("without credentials no authorization is sent")
    func noCredentials() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client { $0.credentials = .none }
        let calls = try await calls(cloud, server)
        #expect(calls.count == 5 && calls.allSatisfy { $0.header("authorization").isEmpty })
        await cloud.close()
        try await server.close()
    }
}
