import GRPCCore
import GRPCNIOTransportHTTP2
import LarderBackend
import LarderGRPC
import LarderHTTP
import LarderModel
import LarderTestSupport
import LarderWire
import NIOCore
import Synchronization

@testable import LarderServer

/// A backend behind sockets of this machine, which a test can stop, start again and give orders.
final class TestServer: Sendable {
    /// A call that has come.
    struct Call: Sendable {
        let method: String
        let metadata: Metadata

        /// The values of a header.
        func header(_ key: String) -> [String] {
            metadata[stringValues: key].map { $0 }
        }
    }

    let backend: Backend
    /// The calls that have come, in order.
    let calls = Awaited<[Call]>([])
    /// What clients have sent on Listen streams.
    let listenRequests = Awaited<[Google_Firestore_V1_ListenRequest]>([])
    /// What clients have sent on Write streams.
    let writeRequests = Awaited<[Google_Firestore_V1_WriteRequest]>([])
    /// How many streams have ended.
    let endedStreams = Awaited(0)
    /// How many responses were written on Listen streams.
    let listenResponses = Awaited(0)
    /// After how many documents answers to queries are cut off; below 0 for never.
    let queryCut = Atomic<Int>(-1)
    private let gate = Mutex<@Sendable (Call) throws -> Void>({ _ in })
    private let script = Mutex<ListenScript?>(nil)
    private let running = Mutex<Run?>(nil)
    private let reservedPort: ReservedPort
    private let breakers = Mutex<[UInt64: AsyncStream<RPCError?>.Continuation]>([:])
    private let lastBreaker = Atomic<UInt64>(0)

    /// What a Listen stream says in place of a backend.
    typealias ListenScript =
        @Sendable (RPCAsyncSequence<Google_Firestore_V1_ListenRequest, any Error>, ListenWriter)
        async throws -> Void
    typealias ListenWriter = RPCWriter<Google_Firestore_V1_ListenResponse>

    static let project = "p"

    /// One time that it listens.
    private struct Run {
        let server: GRPCServer<HTTP2ServerTransport.Posix>
        let connections: OpenConnections
        let task: Task<Void, any Error>
    }

    private init(_ backend: Backend) throws {
        self.backend = backend
        reservedPort = try ReservedPort()
    }

    /// Starts a server with an empty backend, on a port that is free.
    static func started(security: HTTP2ServerTransport.Posix.TransportSecurity = .plaintext)
        async throws -> TestServer
    {
        let server = try TestServer(try Backend(BackendConfiguration(project: project)))
        try await server.start(security)
        return server
    }

    /// The port at which it listens, also after a restart.
    var port: Int { reservedPort.number }

    /// A connection to it.
    func client(_ change: (inout CloudFirestoreConfiguration) -> Void = { _ in }) throws
        -> CloudFirestore
    {
        var configuration = CloudFirestoreConfiguration(project: Self.project, environment: [:])
        configuration.useEmulator(withHost: "127.0.0.1", port: port)
        change(&configuration)
        return try CloudFirestore(configuration)
    }

    /// Lets a closure look at each call, and refuse it by throwing.
    func setGate(_ body: @escaping @Sendable (Call) throws -> Void) {
        gate.withLock { $0 = body }
    }

    /// Lets a closure serve Listen streams.
    func setListenScript(_ body: @escaping ListenScript) {
        script.withLock { $0 = body }
    }

    var listenScript: ListenScript? { script.withLock { $0 } }

    /// Notes a call.
    ///
    /// - Throws: what the gate throws.
    func enter(_ method: MethodDescriptor, _ metadata: Metadata) throws {
        let call = Call(method: method.method, metadata: metadata)
        calls.change { $0.append(call) }
        try gate.withLock { $0 }(call)
    }

    /// Ends all streams that are open: with an error or, for nil, in good order.
    func breakStreams(_ error: RPCError?) {
        for breaker in breakers.withLock({ $0.values.map { $0 } }) { breaker.yield(error) }
    }

    /// Serves a stream until it ends by itself or ``breakStreams(_:)`` ends it.
    func serveStream(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let id = lastBreaker.add(1, ordering: .relaxed).newValue
        let (orders, breaker) = AsyncStream.makeStream(of: RPCError?.self)
        breakers.withLock { $0[id] = breaker }
        defer {
            _ = breakers.withLock { $0.removeValue(forKey: id) }
            endedStreams.change { $0 += 1 }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask(operation: body)
            group.addTask {
                for await order in orders {
                    if let order { throw order }
                    return
                }
            }
            try await group.next()
        }
    }

    /// Starts again where it listened before.
    func restart() async throws {
        try await start(.plaintext)
    }

    /// Breaks all connections, and listens no more.
    func stop() async {
        // What serves holds this object.
        let run = running.withLock { running in
            defer { running = nil }
            return running
        }
        guard let run else { return }
        // Not cancelled: the transport traps where a connection comes at that moment.
        run.server.beginGracefulShutdown()
        run.connections.close()
        _ = await run.task.result
    }

    private func start(
        _ security: HTTP2ServerTransport.Posix.TransportSecurity
    ) async throws {
        let connections = OpenConnections()
        let transport = HTTP2ServerTransport.Posix(
            address: .ipv4(host: "127.0.0.1", port: port), transportSecurity: security,
            config: .defaults {
                $0.rpc.maxRequestPayloadSize = 16 * 1024 * 1024
                $0.channelDebuggingCallbacks.onAcceptTCPConnection = { channel in
                    _ = connections.add(channel)
                    return channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            WritabilityGate(), position: .first)
                    }
                }
            })
        let server = GRPCServer(transport: transport, services: [TestService(server: self)])
        waitForSpawns()
        let task = Task { try await server.serve() }
        guard (try? await server.listeningAddress)?.ipv4 != nil else {
            // Why it cannot listen.
            try await task.value
            throw RPCError(code: .internalError, message: "the server listens nowhere")
        }
        running.withLock { $0 = Run(server: server, connections: connections, task: task) }
    }

    /// Ends it for good, and releases the tests' closures, which may hold it.
    func close() async throws {
        await stop()
        script.withLock { $0 = nil }
        setGate { _ in }
        try await backend.close()
    }
}
