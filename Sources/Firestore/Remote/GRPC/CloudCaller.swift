import Dispatch
import GRPCCore
import GRPCProtobuf
import LarderCredentials
import LarderModel
import LarderRemote
import LarderWire
import Logging
import SwiftProtobuf
import Synchronization
import Tracing

/// Makes calls: adds headers and tokens, and converts errors to ``LarderCore/LarderError``.
final class CloudCaller: Sendable {
    let configuration: CloudFirestoreConfiguration
    let metrics: RemoteMetrics
    let tokens: TokenCache
    let pool: ConnectionPool
    private let headers: CallHeaders
    private let deadlines = Deadlines(DispatchQueue(label: "larder.calls"))

    init(_ configuration: CloudFirestoreConfiguration) throws(LarderError) {
        try configuration.validate()
        let metrics = RemoteMetrics()
        self.configuration = configuration
        self.metrics = metrics
        tokens = TokenCache(
            try configuration.credentials.makeProvider(), errorDomain: LarderError.firestoreDomain,
            onRefresh: { metrics.refreshedToken(isSuccess: $0) })
        pool = try ConnectionPool(configuration, metrics)
        headers = CallHeaders(configuration.databaseID)
    }

    /// Makes one call of any kind.
    ///
    /// - Parameters:
    ///   - timeout: the limit once connected; nil for none.
    ///   - send: sends the requests; they end when it returns.
    ///   - receive: consumes the responses; its result is the call's.
    /// - Throws: the error of the backend, the network or `receive`.
    func call<Request: SwiftProtobuf.Message, Response: Sendable, Answer: Sendable>(
        _ method: MethodDescriptor, as credentials: Credentials, timeout: Duration? = nil,
        _ deserializer: some MessageDeserializer<Response>,
        send: @escaping @Sendable (RPCWriter<Request>) async throws -> Void,
        receive: @escaping @Sendable (RPCAsyncSequence<Response, any Error>) async throws -> Answer
    ) async throws(LarderError) -> Answer {
        let limits = CallLimits(
            deadlines, connectTimeout: configuration.connectTimeout, timeout: timeout)
        let used = Mutex<ClientConnection?>(nil)
        do {
            guard !pool.isClosed else { throw ConnectionPool.closed }
            var options = CallOptions.defaults
            // The transport applies the request limit to received messages, too.
            options.maxRequestMessageBytes = configuration.maxMessageBytes
            options.maxResponseMessageBytes = configuration.maxMessageBytes
            return try await withSpan(method.fullyQualifiedMethod, ofKind: .client) { span in
                span.attributes["rpc.system"] = "grpc"
                span.attributes["rpc.service"] = method.service.fullyQualifiedService
                span.attributes["rpc.method"] = method.method
                span.attributes["db.namespace"] = "\(configuration.databaseID)"
                let context = span.context
                return try await limits.during { [self, options] in
                    var metadata = headers.metadata(
                        try await tokens.token(for: credentials.userID), timeout: timeout)
                    InstrumentationSystem.instrument.inject(
                        context, into: &metadata, using: MetadataInjector())
                    let request = StreamingClientRequest<Request>(metadata: metadata) { writer in
                        limits.begin()
                        try await send(writer)
                    }
                    let connection = try pool.current()
                    used.withLock { $0 = connection }
                    return try await connection.client.bidirectionalStreaming(
                        request: request, descriptor: method,
                        serializer: ProtobufSerializer<Request>(),
                        deserializer: deserializer, options: options
                    ) { response in
                        try await receive(response.messages)
                    }
                }
            }
        } catch {
            throw failure(error, used.withLock { $0 }, isConnected: limits.isOnItsWay)
        }
    }

    private func failure(_ error: any Error, _ connection: ClientConnection?, isConnected: Bool)
        -> LarderError
    {
        if let error = error as? LarderError { return error }
        if pool.isClosed { return ConnectionPool.closed }
        if !isConnected, (error as? RuntimeError)?.code == .clientIsStopped {
            // Another call has found the host unreachable.
            return LarderError(.unavailable, unreachable, cause: error)
        }
        guard let error = error as? RPCError else {
            return error is CancellationError
                ? LarderError(.cancelled, "the call was cancelled")
                : LarderError(.unknown, "the call failed", cause: error)
        }
        guard error.code == .unavailable, !isConnected else { return LarderError(error) }
        guard let connection else {
            return LarderError(
                .unavailable, "the access token provider does not respond", cause: error)
        }
        pool.retire(connection)
        return LarderError(.unavailable, unreachable, cause: error)
    }

    private var unreachable: String {
        "'\(configuration.host)' cannot be reached at the port \(configuration.port)"
    }
}

/// Injects a trace into metadata.
private struct MetadataInjector: Injector {
    func inject(_ value: String, forKey key: String, into metadata: inout Metadata) {
        metadata.addString(value, forKey: key)
    }
}

// MARK: - Single calls

extension CloudCaller {
    /// Makes a call with one request and collects its responses.
    ///
    /// A call refused as unauthenticated is repeated once with a new token; the refused call had no
    /// effect.
    func answers<Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message>(
        _ method: MethodDescriptor, _ request: Request, of: Response.Type,
        as credentials: Credentials
    ) async throws(LarderError) -> [Response] {
        try await believed(method) { () async throws(LarderError) in
            try await once(method, request, as: credentials) {
                (messages: RPCAsyncSequence<Response, any Error>) in
                var answers: [Response] = []
                for try await message in messages { answers.append(message) }
                return answers
            }
        }
    }

    /// Makes a call with one request and one response.
    ///
    /// - Throws: `internal` for another number of responses.
    func answer<Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message>(
        _ method: MethodDescriptor, _ request: Request, of type: Response.Type,
        as credentials: Credentials
    ) async throws(LarderError) -> Response {
        let answers = try await answers(method, request, of: type, as: credentials)
        guard let answer = answers.first, answers.count == 1 else {
            throw LarderError(
                .internal, "\(method.method) has \(answers.count) responses instead of one")
        }
        return answer
    }

    /// Makes a call, repeats it with a new token if it is refused as unauthenticated, and records
    /// both as one in the metrics.
    func believed<Answer: Sendable>(
        _ method: MethodDescriptor, _ call: () async throws(LarderError) -> Answer
    ) async throws(LarderError) -> Answer {
        let clock = ContinuousClock()
        let start = clock.now
        do throws(LarderError) {
            let answer: Answer
            do throws(LarderError) {
                answer = try await call()
            } catch  where error.kind == .unauthenticated && error.cause is RPCError {
                tokens.invalidate()
                answer = try await call()
            }
            metrics.ended(method.method, nil, after: clock.now - start)
            return answer
        } catch {
            if error.kind == .unauthenticated, error.cause is RPCError { tokens.invalidate() }
            metrics.ended(method.method, error, after: clock.now - start)
            throw error
        }
    }

    /// Makes a call with one request.
    ///
    /// - Parameters:
    ///   - isBounded: whether the configured call timeout applies.
    ///   - receive: consumes the responses; the backend waits for it.
    func once<
        Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message, Answer: Sendable
    >(
        _ method: MethodDescriptor, _ request: Request, as credentials: Credentials,
        isBounded: Bool = true,
        receive: @escaping @Sendable (RPCAsyncSequence<Response, any Error>) async throws -> Answer
    ) async throws(LarderError) -> Answer {
        try await call(
            method, as: credentials, timeout: isBounded ? configuration.callTimeout : nil,
            ResponseDeserializer<Response>(),
            send: { (writer: RPCWriter<Request>) in try await writer.write(request) },
            receive: receive)
    }
}

// MARK: - Headers

struct CallHeaders: Sendable {
    private let database: String

    init(_ database: DatabaseID) {
        self.database = "\(database)"
    }

    func metadata(_ token: AccessToken?, timeout: Duration?) -> Metadata {
        var metadata: Metadata = [
            // The database, for proxies that do not decode the request.
            "google-cloud-resource-prefix": .string(database),
            "x-goog-request-params": .string(database),
            "x-goog-api-client": "gl-swift/6 larder/\(LarderVersion.text) grpc/2",
        ]
        if let token { metadata.addString("Bearer \(token.secret)", forKey: "authorization") }
        if let timeout {
            metadata.addString(CallTimeout(timeout).header, forKey: CallTimeout.headerName)
        }
        return metadata
    }
}
