import GRPCCore
import LarderGRPC
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import LarderWire
import Testing

@Suite("The life of a stream", .timeLimit(.minutes(10)))
struct CloudStreamTests {
    private static let database = DatabaseID(project: TestServer.project)

    private static func target(_ id: Int32) throws -> WatchRequest {
        .add(WatchTarget(id: id, target: Query(.collection(try CollectionPath("c"))).target))
    }

    @Test("requests sent before the stream is open are sent in order")
    func order() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        let stream = cloud.connection.remote.openWatchStream(as: Credentials()) { _ in }
        for id in 1...20 { stream.send(try Self.target(Int32(id))) }
        await server.listenRequests.wait { $0.count == 20 }
        #expect(server.listenRequests.value.map(\.addTarget.targetID) == Array(1...20))
        #expect(server.listenRequests.value.allSatisfy { $0.database == "\(Self.database)" })
        stream.close()
        await cloud.close()
        try await server.close()
    }

    @Test("the handshake names the database, writes carry the last token")
    func handshake() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        let probe = WriteProbe(cloud.connection.remote)
        await probe.wait(\.hasHandshake)
        let token = probe.current.token
        #expect(!token.isEmpty)
        probe.write(Mutation(.delete, at: try DocumentPath("c/d")))
        await probe.wait { $0.responses.count == 1 }
        let requests = server.writeRequests.value
        #expect(requests.count == 2)
        #expect(requests[0].database == "\(Self.database)" && requests[0].writes.isEmpty)
        #expect(requests[0].streamToken.isEmpty && requests[0].streamID.isEmpty)
        #expect(requests[1].database.isEmpty && requests[1].writes.count == 1)
        #expect([UInt8](requests[1].streamToken) == token)
        probe.close()
        await cloud.close()
        try await server.close()
    }

    @Test(
        "the server's code ends both streams, once",
        arguments: [
            RPCError.Code.unavailable, .resourceExhausted, .unauthenticated, .permissionDenied,
            .aborted, .internalError, .cancelled, .deadlineExceeded,
        ])
    func codes(code: RPCError.Code) async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        let (watch, write) = try await Self.openStreams(cloud, server)
        server.breakStreams(RPCError(code: code, message: "as scripted"))
        await watch.wait { $0.ending != nil }
        await write.wait { $0.ending != nil }
        let endings = [watch.mirror.ending, write.current.ending]
        for ending in endings {
            let error = try #require(ending.flatMap { $0 })
            #expect(error.kind.rawValue == code.rawValue && error.message == "as scripted")
        }
        await cloud.close()
        #expect(watch.mirror.heard.filter { $0.hasPrefix("closed") }.count == 1)
        try await server.close()
    }

    @Test("a stream that the server ends in good order closes without an error")
    func goodOrder() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        let (watch, write) = try await Self.openStreams(cloud, server)
        server.breakStreams(nil)
        await watch.wait { $0.ending != nil }
        await write.wait { $0.ending != nil }
        #expect(try #require(watch.mirror.ending) == nil)
        #expect(try #require(write.current.ending) == nil)
        await cloud.close()
        try await server.close()
    }

    @Test("a connection that breaks ends streams with unavailable, and the next ones work")
    func broken() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        let (watch, write) = try await Self.openStreams(cloud, server)
        await server.stop()
        await watch.wait { $0.ending != nil }
        await write.wait { $0.ending != nil }
        #expect(watch.mirror.ending??.kind == .unavailable)
        #expect(write.current.ending??.kind == .unavailable)

        // A connection that is going down may still take a stream, and breaks it too.
        var refused: WatchProbe
        repeat {
            refused = WatchProbe(cloud.connection.remote, Self.database)
            await refused.wait { $0.ending != nil }
            #expect(refused.mirror.ending??.kind == .unavailable)
        } while refused.mirror.heard.contains("opened")
        #expect(refused.mirror.ending??.message.contains("127.0.0.1") == true)

        try await server.restart()
        // The attempt that failed leaves nothing that later ones would wait for.
        _ = try await Self.openStreams(cloud, server)
        await cloud.close()
        try await server.close()
    }

    @Test("a host that accepts a connection and says nothing counts as not there")
    func silentHost() async throws {
        let host = try await SilentHost.started()
        var configuration = CloudFirestoreConfiguration(
            project: TestServer.project, environment: [:])
        configuration.useEmulator(withHost: "127.0.0.1", port: host.port)
        configuration.connectTimeout = .milliseconds(100)
        let cloud = try CloudFirestore(configuration)
        let write = WriteProbe(cloud.connection.remote)
        await write.wait { $0.ending != nil }
        #expect(write.current.ending??.kind == .unavailable && write.current.eventCount == 1)
        let result = await withCheckedContinuation { continuation in
            cloud.connection.remote.commit([], as: Credentials()) {
                continuation.resume(returning: $0)
            }
        }
        let error = #expect(throws: LarderError.self) { try result.get() }
        #expect(error?.kind == .unavailable)
        await cloud.close()
        withExtendedLifetime(host) {}
    }

    @Test("letting a stream go ends it at the server")
    func lettingGo() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        do { _ = try await Self.openStreams(cloud, server) }
        await server.endedStreams.wait { $0 == 2 }
        await cloud.close()
        try await server.close()
    }

    @Test("closing the connection ends streams with unavailable, and refuses later ones")
    func closing() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        let (watch, write) = try await Self.openStreams(cloud, server)
        await cloud.close()
        #expect(watch.mirror.ending??.kind == .unavailable)
        #expect(write.current.ending??.kind == .unavailable)
        let late = WriteProbe(cloud.connection.remote)
        await late.wait { $0.ending != nil }
        #expect(late.current.ending??.kind == .unavailable && late.current.eventCount == 1)
        let result = await withCheckedContinuation { continuation in
            cloud.connection.remote.commit([], as: Credentials()) {
                continuation.resume(returning: $0)
            }
        }
        #expect(throws: LarderError.self) { try result.get() }
        await cloud.close()
        try await server.close()
    }

    @Test("an answer that means nothing ends its stream with internal")
    func undecodable() async throws {
        let server = try await TestServer.started()
        server.setListenScript { messages, writer in
            try await writer.write(Google_Firestore_V1_ListenResponse())
            for try await _ in messages {}
        }
        let cloud = try server.client()
        let watch = WatchProbe(cloud.connection.remote, Self.database)
        await watch.wait { $0.ending != nil }
        #expect(watch.mirror.ending??.kind == .internal)
        await cloud.close()
        try await server.close()
    }

    @Test("a write that cannot be encoded ends its stream after the writes before it")
    func unsendable() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        let probe = WriteProbe(cloud.connection.remote)
        await probe.wait(\.hasHandshake)
        let pending = try Record([
            "t": .serverTimestamp(PendingServerTimestamp(localWriteTime: .now()))
        ])
        probe.write(Mutation(.delete, at: try DocumentPath("c/d")))
        probe.write(Mutation(.set(pending), at: try DocumentPath("c/e")))
        probe.write(Mutation(.delete, at: try DocumentPath("c/f")))
        await probe.wait { $0.ending != nil }
        #expect(probe.current.ending??.kind == .invalidArgument)
        #expect(probe.current.responses.count == 1)
        await cloud.close()
        try await server.close()
    }

    /// Opens streams of both kinds, and waits until the server answers on them.
    static func openStreams(
        _ cloud: CloudFirestore, _ server: TestServer
    ) async throws -> (WatchProbe, WriteProbe) {
        let watch = WatchProbe(cloud.connection.remote, database)
        watch.send(try target(2))
        let write = WriteProbe(cloud.connection.remote)
        await watch.wait { !$0.snapshots.isEmpty || $0.ending != nil }
        await write.wait { $0.hasHandshake || $0.ending != nil }
        try #require(watch.mirror.ending == nil && write.current.ending == nil)
        return (watch, write)
    }
}
