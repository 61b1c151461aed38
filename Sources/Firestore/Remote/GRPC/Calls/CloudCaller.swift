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

/// Makes calls: with a link, headers and a token, and with errors as Larder has them.
final class CloudCaller: Sendable {
    let configuration: CloudFirestoreConfiguration
    let metrics: RemoteMetrics
    let tokens: TokenCache
    let links: ClientLinks
    private let headers: CallHeaders
    private let deadlines = Deadlines(DispatchQueue(label: "larder.calls"))

    /// - Throws: as ``CloudFirestore/init(_:)``.
    init(_ configuration: CloudFirestoreConfiguration) throws(LarderError) {
        try configuration.validate()
        let metrics = RemoteMetrics()
        self.configuration = configuration
        self.metrics = metrics
        tokens = TokenCache(
            try configuration.credentials.makeProvider(),
            onRefresh: { metrics.refreshedToken(isSuccess: $0) })
        links = try ClientLinks(configuration, metrics)
        headers = CallHeaders(configuration.databaseID)
    }

    /// Makes one call, of any kind: streams of requests and of answers.
    ///
    /// - Parameters:
    ///   - method: what is called.
    ///   - timeout: how long it may take once there is a connection; nil for ever.
    ///   - deserializer: makes answers of bytes.
    ///   - send: called once the call is on its way, to send requests; its end ends them.
    ///   - receive: called with the answers; its result is the call's.
    /// - Throws: what the host or the network answered; what `receive` throws.
    func call<Request: SwiftProtobuf.Message, Response: Sendable, Answer: Sendable>(
        _ method: MethodDescriptor, as credentials: Credentials, timeout: Duration? = nil,
        _ deserializer: some MessageDeserializer<Response>,
        send: @escaping @Sendable (RPCWriter<Request>) async throws -> Void,
        receive: @escaping @Sendable (RPCAsyncSequence<Response, any Error>) async throws -> Answer
    ) async throws(LarderError) -> Answer {
        let limits = CallLimits(
            deadlines, connectTimeout: configuration.connectTimeout, timeout: timeout)
        let used = Mutex<ClientLink?>(nil)
        do {
            guard !links.isClosed else { throw ClientLinks.closed }
            var options = CallOptions.defaults
            // The transport takes the first for what it receives, too.
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
                    let link = try links.current()
                    used.withLock { $0 = link }
                    return try await link.client.bidirectionalStreaming(
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

    /// What a call failed with, in Larder's terms.
    private func failure(_ error: any Error, _ link: ClientLink?, isConnected: Bool) -> LarderError
    {
        if let error = error as? LarderError { return error }
        if links.isClosed { return ClientLinks.closed }
        if !isConnected, (error as? RuntimeError)?.code == .clientIsStopped {
            // Somebody else has found that the link leads nowhere.
            return LarderError(.unavailable, unreachable, cause: error)
        }
        guard let error = error as? RPCError else {
            return error is CancellationError
                ? LarderError(.cancelled, "the call was cancelled")
                : LarderError(.unknown, "the call failed", cause: error)
        }
        guard error.code == .unavailable, !isConnected else { return LarderError(error) }
        guard let link else {
            return LarderError(
                .unavailable, "the provider of access tokens does not answer", cause: error)
        }
        links.retire(link)
        return LarderError(.unavailable, unreachable, cause: error)
    }

    private var unreachable: String {
        "'\(configuration.host)' cannot be reached at the port \(configuration.port)"
    }
}

/// Puts what a span is known by into the headers of a call.
private struct MetadataInjector: Injector {
    func inject(_ value: String, forKey key: String, into metadata: inout Metadata) {
        metadata.addString(value, forKey: key)
    }
}
