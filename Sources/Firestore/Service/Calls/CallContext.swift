import Dispatch
import GRPCCore
import LarderHTTP
import NIOCore
import NIOHTTP2

/// What the calls of a server's connections have in common.
final class CallContext: Sendable {
    /// The requests and the answers of a call.
    typealias Stream = RPCStream<CallTransport.Inbound, CallTransport.Outbound>

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

    /// Makes the handler of a new stream.
    func makeCall(
        _ id: HTTP2StreamID, _ connection: HTTP2Connection, _ loop: any EventLoop
    ) -> any HTTP2StreamHandler {
        Call(id, of: connection, in: self, on: loop)
    }

    /// Serves a call, in a task of its own.
    func serve(_ stream: Stream, _ requests: CallRequests, _ peers: HTTP2Connection.Peers) {
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
        _ work: ShortCall.Work, _ reply: @escaping ShortCall.Reply<[[UInt8]]>
    ) throws -> Bool {
        connections.beginCall()
        var hasBegun = false
        defer { if !hasBegun { connections.endCall() } }
        hasBegun = try work.inline { [connections] messages in
            reply(messages)
            connections.endCall()
        }
        return hasBegun
    }

    /// Does what a call asks for, in a task of its own, which begins at once.
    @discardableResult
    func serve(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        connections.beginCall()
        return Task.immediate(executorPreference: executor) {
            await body()
            connections.endCall()
        }
    }
}

// MARK: - Routes

/// By which way the calls of a method are served.
enum CallRoute: Sendable {
    /// From the connection, when the request is there.
    case short(ShortCall)
    /// From the connection, as long as it lasts.
    case live(LiveMethod)
    /// By gRPC.
    case long(MethodDescriptor)
}

extension CallRoute {
    /// The routes of calls by their paths.
    ///
    /// - Parameters:
    ///   - methods: all there are; gRPC serves those that have no other way.
    static func byPath(
        _ methods: [MethodDescriptor], short: [ShortCall], live: [LiveMethod]
    ) -> [String: CallRoute] {
        var routes: [MethodDescriptor: CallRoute] = [:]
        for method in methods { routes[method] = .long(method) }
        for call in short { routes[call.method] = .short(call) }
        for method in live { routes[method.method] = .live(method) }
        return Dictionary(
            uniqueKeysWithValues: routes.map { ("/" + $0.fullyQualifiedMethod, $1) })
    }
}

// MARK: - Unary calls

/// A call of one small request, which is answered from its connection.
///
/// gRPC's way, a sequence of requests that are routed to what serves them, costs more than most of
/// these do.
struct ShortCall: Sendable {
    /// Is told once of an answer, on any thread: what makes it on the event loop.
    typealias Reply<Answer> = @Sendable (_ answer: @escaping @Sendable () throws -> Answer) -> Void

    /// What a request asks for.
    struct Work: Sendable {
        /// Does it, or begins it, on the event loop of the connection.
        ///
        /// - Returns: false, and has done nothing, where that would wait.
        var inline: @Sendable (_ reply: @escaping Reply<[[UInt8]]>) throws -> Bool = { _ in false }
        /// Does it in a task, which is cancelled when the call ends early.
        let async: @Sendable () async throws -> [[UInt8]]
    }

    /// The most that a request may have.
    static let maxRequestBytes = 64 << 10

    /// What is called.
    let method: MethodDescriptor
    /// Measures it.
    let monitor: CallMonitor
    /// Takes a request; nil where it is for gRPC to serve.
    let take: @Sendable ([UInt8]) -> Work?
}

// MARK: - Streams

/// A call of many requests and answers that is served from its connection.
///
/// gRPC's way takes tasks that last as long as the call, which waits most of the time. Here nothing
/// is left of it between two requests, or two answers, but an object. The event loop of the
/// connection alone uses it.
protocol LiveCall: AnyObject {
    /// Whether the request before is still being served, so that the next one waits.
    var isBusy: Bool { get }

    /// Takes a request.
    func take(_ request: [UInt8])

    /// Hears that there are no more requests.
    func finish()

    /// Hears that the call has ended, for whichever reason; called once.
    func close()
}

/// A method whose calls are live.
struct LiveMethod: Sendable {
    /// What is called.
    let method: MethodDescriptor
    /// Begins to serve a call.
    let open: @Sendable (Call, RequestHeaders, CallContext) -> any LiveCall
}
