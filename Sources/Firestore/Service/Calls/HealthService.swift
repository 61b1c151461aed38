import GRPCCore
import LarderCore
import LarderHTTP
import NIOCore
import SwiftProtobuf
import Synchronization

/// `grpc.health.v1.Health`, which tells load balancers whether the server is serving.
///
/// Both methods are served without a token: probes cannot send one.
final class HealthService: Sendable {
    /// grpc.health.v1.HealthCheckResponse.ServingStatus.
    enum Status: Int32 {
        case serving = 1
        case notServing = 2
        /// Sent by `Watch` alone.
        case serviceUnknown = 3
    }

    /// The message `HealthCheckRequest`, whose only field is a string with the number 1.
    private typealias Request = Google_Protobuf_StringValue
    /// The message `HealthCheckResponse`, whose only field is an enum with the number 1.
    private typealias Response = Google_Protobuf_Int32Value

    private static let service = "grpc.health.v1.Health"
    static let check = MethodDescriptor(fullyQualifiedService: service, method: "Check")
    static let watch = MethodDescriptor(fullyQualifiedService: service, method: "Watch")
    /// The paths of the methods.
    static let paths = Set([check, watch].map { "/\($0.fullyQualifiedMethod)" })
    /// The services of the server; empty for the server as a whole.
    private static let services: Set<String> = ["", "google.firestore.v1.Firestore"]

    private struct State {
        var isServing = true
        var watchers: [ObjectIdentifier: LoopEvents<Status>] = [:]
    }

    let monitor: CallMonitor
    private let watcherLimit: Int
    private let state = Mutex(State())

    /// - Parameter watcherLimit: the maximum number of open calls of `Watch`.
    init(monitor: CallMonitor, watcherLimit: Int = 1_000) {
        self.monitor = monitor
        self.watcherLimit = watcherLimit
    }

    var methods: [CallMethod] {
        [
            .request(
                RequestMethod(descriptor: Self.check, monitor: monitor) { [self] bytes in
                    RequestMethod.Work(async: { .messages([try self.response(to: bytes)]) })
                }),
            .stream(
                StreamMethod(descriptor: Self.watch) { [self] call, headers, _ in
                    HealthWatch(self, call, headers)
                }),
        ]
    }

    /// Reports that the server is stopping, and ends all calls of `Watch`.
    func stop() {
        let watchers = state.withLock { state in
            state.isServing = false
            defer { state.watchers = [:] }
            return state.watchers.values
        }
        for watcher in watchers { watcher.add(.notServing) }
    }

    /// - Throws: `notFound` for a service that the server does not have.
    func response(to request: [UInt8]) throws(RPCError) -> [UInt8] {
        let service = try Self.service(of: request)
        guard Self.services.contains(service) else {
            throw RPCError(code: .notFound, message: "unknown service '\(service.prefix(200))'")
        }
        return try Self.response(state.withLock(\.isServing) ? .serving : .notServing)
    }

    /// Begins to report the status to a watcher; ``remove(_:)`` ends it.
    ///
    /// - Returns: the status.
    /// - Throws: `resourceExhausted` if there are too many watchers.
    fileprivate func add(_ watcher: LoopEvents<Status>, _ request: [UInt8]) throws(RPCError)
        -> Status
    {
        let service = try Self.service(of: request)
        return try state.withLock { state throws(RPCError) in
            guard state.isServing else { return .notServing }
            guard state.watchers.count < watcherLimit else {
                throw RPCError(
                    code: .resourceExhausted,
                    message: "the limit of \(watcherLimit) health watchers is reached")
            }
            state.watchers[ObjectIdentifier(watcher)] = watcher
            // A service may appear later, so the call goes on.
            return Self.services.contains(service) ? .serving : .serviceUnknown
        }
    }

    fileprivate func remove(_ watcher: LoopEvents<Status>) {
        _ = state.withLock { $0.watchers.removeValue(forKey: ObjectIdentifier(watcher)) }
    }

    private static func service(of request: [UInt8]) throws(RPCError) -> String {
        do {
            return try Request(serializedBytes: request).value
        } catch {
            throw RPCError(code: .invalidArgument, message: "the request is malformed")
        }
    }

    fileprivate static func response(_ status: Status) throws(RPCError) -> [UInt8] {
        do {
            return try Response(status.rawValue).serializedBytes()
        } catch {
            throw RPCError(code: .internalError, message: "the response cannot be encoded")
        }
    }
}

/// A call of `Watch`: responds with the status, and again when it changes.
///
/// The server changes its status once, when it stops; the call ends then.
private final class HealthWatch: OpenStream {
    private let service: HealthService
    private let call: Call
    private let monitored: MonitoredCall
    private let changes: LoopEvents<HealthService.Status>
    private var hasRequest = false
    private var isOver = false

    init(_ service: HealthService, _ call: Call, _ headers: RequestHeaders) {
        self.service = service
        self.call = call
        monitored = service.monitor.begin(
            HealthService.watch, headers.metadata, peer: call.origin.connection.address)
        changes = LoopEvents(call.loop)
        let bound = NIOLoopBound(self, eventLoop: call.loop)
        changes.listen { bound.value.takeChanges() }
    }

    var isBusy: Bool { isOver }

    func take(_ request: [UInt8]) {
        guard !hasRequest else { return end(.wrongCount) }
        hasRequest = true
        do throws(RPCError) {
            try send(try service.add(changes, request))
        } catch {
            end(error)
        }
    }

    /// The client has sent its request and goes on to receive.
    func finish() {
        if !hasRequest { end(.wrongCount) }
    }

    private func takeChanges() {
        do throws(RPCError) {
            for status in changes.take() { try send(status) }
        } catch {
            end(error)
        }
    }

    private func send(_ status: HealthService.Status) throws(RPCError) {
        guard !isOver else { return }
        _ = call.write([try HealthService.response(status)])
        if status == .notServing {
            end(RPCError(code: .unavailable, message: "the server is stopping"))
        }
    }

    private func end(_ error: RPCError) {
        guard !isOver else { return }
        isOver = true
        call.refuse(monitored.failed(error))
    }

    func close() {
        if !isOver { _ = monitored.failed(RPCError.clientHasLeft) }
        isOver = true
        changes.close()
        service.remove(changes)
    }
}
