import GRPCCore
import LarderCore
import LarderHTTP
import LarderModel
import NIOCore
import NIOHPACK
import NIOHTTP2

/// The context that all calls of a server share.
final class CallContext: Sendable {
    /// The methods by the paths of their calls.
    let methods: [String: CallMethod]
    /// The token that clients must present; nil for none.
    let token: BearerToken?
    let access: WebAccess
    /// Is told of refused access; nil for nothing.
    let monitor: AccessMonitor?
    let limits: ServerConfiguration.Limits
    let ledger: MemoryLedger
    let admission: RequestAdmission
    let executor: LoopExecutor
    let connections: OpenConnections

    init(
        methods: [CallMethod], token: BearerToken?, access: WebAccess,
        limits: ServerConfiguration.Limits, ledger: MemoryLedger, executor: LoopExecutor,
        connections: OpenConnections, monitor: AccessMonitor? = nil
    ) {
        self.methods = Dictionary(
            methods.map { ("/" + $0.descriptor.fullyQualifiedMethod, $0) },
            uniquingKeysWith: { _, last in last })
        self.token = token
        self.access = access
        self.monitor = monitor
        self.limits = limits
        self.ledger = ledger
        admission = RequestAdmission(limit: ledger.limit / 2)
        self.executor = executor
        self.connections = connections
    }

    /// True if a request is a gRPC call; one with a wrong content type counts.
    func isCall(_ headers: HPACKHeaders) -> Bool {
        headers.first(name: "content-type")?.hasPrefix("application/grpc") == true
            || headers.first(name: ":path").map { methods[$0] != nil } == true
    }

    func makeCall(
        _ headers: HPACKHeaders, _ id: HTTP2StreamID, _ connection: HTTP2Connection,
        _ loop: any EventLoop
    ) -> any HTTP2StreamHandler {
        Call(id, of: connection, in: self, on: loop)
    }

    /// Begins a request's work on its event loop.
    ///
    /// - Returns: false if it needs a task.
    /// - Throws: the reason to refuse it.
    func begin(_ work: RequestMethod.Work, _ reply: @escaping RequestMethod.Reply) throws -> Bool {
        connections.beginCall()
        var hasBegun = false
        defer { if !hasBegun { connections.endCall() } }
        hasBegun = try work.inline { [connections] messages in
            reply(messages)
            connections.endCall()
        }
        return hasBegun
    }

    /// Serves a call in a new task, which begins immediately.
    @discardableResult
    func serve(
        _ origin: CallOrigin, _ body: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never> {
        connections.beginCall()
        return Task.immediate(executorPreference: executor) {
            await CallOrigin.$current.withValue(origin, operation: body)
            connections.endCall()
        }
    }
}
