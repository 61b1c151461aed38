import Dispatch
import GRPCCore
import LarderHTTP
import NIOCore
import NIOHPACK
import NIOHTTP2

/// The context that all calls of a server share.
final class CallContext: Sendable {
    typealias Stream = RPCStream<CallTransport.Inbound, CallTransport.Outbound>

    let routes: [String: CallRoute]
    /// The token that clients must present; nil for none.
    let token: BearerToken?
    let access: WebAccess
    let limits: ServerConfiguration.Limits
    let budget: RequestBudget
    let executor: LoopExecutor
    let connections: OpenConnections
    private let handler: Handler

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

    /// Whether a request is a call of gRPC, also one with a wrong content type.
    func isCall(_ headers: HPACKHeaders) -> Bool {
        headers.first(name: "content-type")?.hasPrefix("application/grpc") == true
            || headers.first(name: ":path").map { routes[$0] != nil } == true
    }

    func makeCall(
        _ headers: HPACKHeaders, _ id: HTTP2StreamID, _ connection: HTTP2Connection,
        _ loop: any EventLoop
    ) -> any HTTP2StreamHandler {
        Call(id, of: connection, in: self, on: loop)
    }

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

    /// Begins a short call on its event loop.
    ///
    /// - Returns: false if it needs a task.
    /// - Throws: the reason to refuse it.
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

    /// Serves a call in a new task, which begins immediately.
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

enum CallRoute: Sendable {
    /// By the connection, once the request is complete.
    case short(ShortCall)
    /// By the connection, as a stream.
    case live(LiveMethod)
    /// By gRPC.
    case long(MethodDescriptor)
}

extension CallRoute {
    /// The routes of calls by their paths.
    ///
    /// - Parameters:
    ///   - methods: all methods; gRPC serves those without another route.
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

/// A method with one small request, served by its connection: gRPC's routing costs more than most
/// of these calls.
struct ShortCall: Sendable {
    /// Called exactly once, on any thread, with a closure that builds the response on the event
    /// loop.
    typealias Reply<Answer> = @Sendable (_ answer: @escaping @Sendable () throws -> Answer) -> Void

    /// The work of a request.
    struct Work: Sendable {
        /// Performs or begins the work on the connection's event loop.
        ///
        /// - Returns: false, without effect, if that would block.
        var inline: @Sendable (_ reply: @escaping Reply<[[UInt8]]>) throws -> Bool = { _ in false }
        /// Performs the work in a task, which is cancelled if the call ends early.
        let async: @Sendable () async throws -> [[UInt8]]
    }

    /// The size of the largest short request.
    static let maxRequestBytes = 64 << 10

    let method: MethodDescriptor
    let monitor: CallMonitor
    /// Decodes a request; nil to pass it to gRPC.
    let take: @Sendable ([UInt8]) -> Work?
}

// MARK: - Streams

/// A call with any number of requests and responses, served by its connection.
///
/// gRPC needs tasks for the lifetime of a call, which is idle most of the time; here an idle call
/// is one object. Confined to the connection's event loop.
protocol LiveCall: AnyObject {
    /// Whether the next request must wait for the previous one.
    var isBusy: Bool { get }

    func take(_ request: [UInt8])

    /// Called at the end of the requests.
    func finish()

    /// Called once, at the end of the call for any reason.
    func close()
}

/// A method whose calls are streams.
struct LiveMethod: Sendable {
    let method: MethodDescriptor
    /// Begins a call.
    let open: @Sendable (Call, RequestHeaders, CallContext) -> any LiveCall
}
