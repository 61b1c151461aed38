import Dispatch
import GRPCCore

/// What the calls of a server's connections have in common.
final class CallServing: Sendable {
    /// The requests and the answers of a call.
    typealias Stream = RPCStream<CallTransport.Inbound, CallTransport.Outbound>

    /// The ends of a connection, for logs.
    struct Peers: Sendable {
        /// The client.
        var remote = ""
        /// This server.
        var local = ""
    }

    /// What may be called, by path.
    let routes: [String: CallRoute]
    /// What clients must bear; nil for nothing.
    let token: BearerToken?
    /// Which requests of web pages are served.
    let access: WebAccess
    /// What is allowed.
    let limits: ServerConfiguration.Limits
    /// Room for requests.
    let budget: RequestBudget
    /// Where tasks run.
    let executor: LoopExecutor
    /// What is open.
    let connections: OpenConnections
    /// Serves a call.
    private let handler: Handler

    /// Serves a call by gRPC.
    typealias Handler = @Sendable (Stream, ServerContext) async -> Void

    init(
        routes: [String: CallRoute], token: BearerToken?, access: WebAccess,
        limits: ServerConfiguration.Limits, budget: RequestBudget, executor: LoopExecutor,
        connections: OpenConnections,
        handler: @escaping Handler
    ) {
        self.routes = routes
        self.token = token
        self.access = access
        self.limits = limits
        self.budget = budget
        self.executor = executor
        self.connections = connections
        self.handler = handler
    }

    /// Serves a call, in a task of its own.
    func serve(_ stream: Stream, _ requests: CallRequests, _ peers: Peers) {
        serve { [handler] in
            await withServerContextRPCCancellationHandle { handle in
                requests.cancelling(handle)
                await handler(
                    stream,
                    ServerContext(
                        descriptor: stream.descriptor, remotePeer: peers.remote,
                        localPeer: peers.local, cancellation: handle))
            }
        }
    }

    /// Begins what a short call asks for, on the event loop of its connection.
    ///
    /// - Returns: false where that takes a task.
    /// - Throws: why it is refused.
    func begin(
        _ work: ShortCall.Work, _ tell: @escaping ShortCall.Tell<[[UInt8]]>
    ) throws -> Bool {
        connections.work.enter()
        var hasBegun = false
        defer { if !hasBegun { connections.work.leave() } }
        hasBegun = try work.atOnce { [connections] messages in
            tell(messages)
            connections.work.leave()
        }
        return hasBegun
    }

    /// Does what a call asks for, in a task of its own, which begins at once.
    @discardableResult
    func serve(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        connections.work.enter()
        return Task.immediate(executorPreference: executor) {
            await body()
            connections.work.leave()
        }
    }
}
