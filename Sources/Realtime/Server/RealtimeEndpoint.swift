package import LarderHTTP
import LarderRealtimeBackend
package import LarderRealtimeModel
import LarderRealtimeRemote
package import Logging
import Metrics
import NIOCore
import Synchronization

/// The Realtime Databases of a server, for clients of Firebase.
///
/// | path | |
/// |---|---|
/// | `/.ws` | WebSocket sessions |
/// | `/….json` | REST, and event streams for `Accept: text/event-stream` |
/// | `/.settings/rules.json` | the security rules, for administrators |
/// | `/.lp` | refused: long polling is not served |
///
/// The parameter `ns` names the database, else the first of three labels of the host; without
/// either it is ``LarderRealtimeBackend/RealtimeBackend/defaultNamespace``.
package final class RealtimeEndpoint: HTTPService {
    private static let socketPath = "/.ws"
    private static let pollingPath = "/.lp"

    private let configuration: RealtimeServerConfiguration
    private let logger: Logger
    private let namespaces: Namespaces
    private let streams: EventStreams
    private let sessions = SessionCount()
    private let refusals: AccessMonitor
    private let bodyFiles: BodyFiles
    /// Reads large bodies, one at a time.
    private let importers = WorkPool("larder.realtime.import", limit: 1)
    /// Encode large messages of WebSockets.
    private let encoders = WorkPool("larder.realtime.encode", limit: 2)
    private let keyReaders = WorkPool("larder.realtime.keys", limit: 1)
    /// Reads the files of keys again.
    private let refreshing = Mutex<Task<Void, Never>?>(nil)

    /// Creates the databases of a server, none of which is open.
    package init(_ configuration: RealtimeServerConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        refusals = AccessMonitor(logger)
        namespaces = Namespaces(configuration)
        bodyFiles = BodyFiles(
            maxBytes: RESTService.maxWriteBytes, maxCount: configuration.largeBodies
        ) { [namespaces] () throws(LarderError) in try namespaces.temporaryDirectory() }
        streams = EventStreams(keepAliveInterval: configuration.keepAliveInterval)
    }

    package var methods: String { RESTService.methods }

    package var bodyBytes: Int? { configuration.session.maxMessageBytes }

    package func bodyFiles(for request: HTTPRequest) -> BodyFiles? {
        guard ["PUT", "POST", "PATCH"].contains(request.method), request.path.hasSuffix(".json"),
            request.path != RESTService.rulesPath,
            let token = try? RESTRequest(request).token,
            case .valid(let user) = namespaces.tokens.check(token), user.isAdministrator
        else { return nil }
        return bodyFiles
    }

    /// What operators are to know of the rules once the server listens; nil for nothing.
    package var rulesNotice: String? {
        guard configuration.rules.common == nil else { return nil }
        let access = configuration.isOpen ? "everybody" : "administrators alone"
        return "Realtime Databases without rules are open to \(access): see --rules"
    }

    package func start(isCancelled: AtomicFlag) async throws(LarderError) {
        if let path = configuration.importPath {
            try await namespaces.importTrees(from: path, isCancelled: isCancelled, logger)
        }
        Task { [namespaces, logger] in await namespaces.recover(logger) }
        guard configuration.authKeys != nil else { return }
        let interval = configuration.authKeysInterval
        let task = Task { [weak self, logger] in
            while (try? await Task.sleep(for: interval)) != nil {
                do throws(LarderError) {
                    _ = try await self?.reloadKeys()
                } catch {
                    logger.error("--auth-keys: \(error.message); the former keys stay valid")
                }
            }
        }
        refreshing.withLock { $0 = task }
    }

    /// Reads the keys of users again if there are any; the former keys stay valid if they cannot be
    /// read.
    ///
    /// - Returns: true if they have changed.
    package func reloadKeys() async throws(LarderError) -> Bool {
        try await configuration.authKeys?.refresh { paths throws(LarderError) in
            try await self.keyReaders.run { () throws(LarderError) in try AuthKeys.read(paths) }
        } ?? false
    }

    /// Replaces the security rules; listens that they deny end.
    ///
    /// - Returns: true if they have changed.
    package func replaceRules(with rules: ConfiguredRules) async throws(LarderError) -> Bool {
        try await namespaces.replaceRules(with: rules)
    }

    /// Replaces the token of administrators, and ends the authentication of all sessions.
    ///
    /// - Returns: false if it is the same token, or if there is none.
    package func replaceToken(with token: String) -> Bool {
        namespaces.replaceToken(with: token)
    }

    package func serves(_ request: HTTPRequest) -> Bool {
        let path = request.path
        return path.hasSuffix(".json") || path == Self.socketPath || path == Self.pollingPath
            || (try? RESTRequest(request))?.parameter("ns") != nil
    }

    package func close() async throws(LarderError) {
        refreshing.withLock { $0?.cancel() }
        streams.close()
        try await namespaces.close()
    }

    // MARK: Requests

    package func respond(to request: HTTPRequest, _ reply: any HTTPReply) async {
        switch request.path {
        case Self.socketPath: await reply.send(await refusal(of: request))
        case Self.pollingPath:
            await reply.send(
                .failure(501, "long polling is not served: connect with WebSockets at /.ws"))
        default: await serve(request, reply)
        }
    }

    private func serve(_ request: HTTPRequest, _ reply: any HTTPReply) async {
        do throws(LarderError) {
            let request = try RESTRequest(reading: request)
            if request.method == "GET", request.isForStream {
                let use = try await namespaces.use(request.namespace)
                return await stream(request, use, reply)
            }
            let use =
                request.method == "GET"
                ? try await namespaces.useForReading(request.namespace)
                : try await namespaces.use(request.namespace)
            let response = await self.response(to: request, use.namespace)
            count(request.method, response.status)
            noteRefusal(response.status, isOfToken: response.isTokenRefused)
            await send(response, reply)
        } catch {
            let response = HTTPResponse(error)
            count(request.method, response.status)
            await reply.send(response)
        }
    }

    private func response(to request: RESTRequest, _ namespace: Namespace) async -> RESTResponse {
        let client = CallOrigin.current?.client
        return await withLoopContinuation { continuation in
            let serve: @Sendable () -> Void = {
                _ = namespace.rest.serve(request, for: client) { output in
                    if case .response(let response) = output {
                        continuation.resume(returning: response)
                    }
                }
            }
            // Reading a file blocks.
            if request.bodyFile == nil { serve() } else { importers.perform(for: client, serve) }
        }
    }

    private func send(_ response: RESTResponse, _ reply: any HTTPReply) async {
        guard let text = response.text else { return await reply.send(HTTPResponse(response)) }
        reply.begin(HTTPResponseHead(response), bodyBytes: nil)
        do throws(LarderError) {
            for part in text.parts { try await reply.write(part) }
            reply.end([])
        } catch {
            // The client has left.
        }
    }

    private func stream(
        _ request: RESTRequest, _ use: NamespaceUse, _ reply: any HTTPReply
    ) async {
        let memory = CallOrigin.current?.memory
        let outputs = StreamOutputs(maxBytes: configuration.maxStreamBytes, memory: memory)
        let stream = use.namespace.rest.serve(request, memory: memory) { outputs.add($0) }
        let id = streams.add(outputs)
        defer {
            streams.remove(id)
            stream?.close()
            outputs.close()
        }
        await outputs.write(to: reply) { head in
            count(request.method, head.status)
            noteRefusal(head.status, isOfToken: head.isTokenRefused)
        }
    }

    private func noteRefusal(_ status: Int, isOfToken: Bool) {
        guard status == 401 || status == 403 else { return }
        refusals.note(
            isOfToken ? .token : .rules,
            isOfToken ? "the token is wrong or has expired" : "permission denied", over: .rest,
            address: CallOrigin.current?.connection.address)
    }

    private func count(_ method: String, _ status: Int) {
        Counter(
            label: "larder_realtime_requests",
            dimensions: [("method", Self.label(method)), ("status", "\(status)")]
        ).increment()
    }

    /// A method as a label: clients must not create any number of them.
    private static func label(_ method: String) -> String {
        ["GET", "PUT", "POST", "PATCH", "DELETE"].contains(method) ? method : "other"
    }

    // MARK: WebSockets

    package func webSocket(for request: HTTPRequest) async -> WebSocketOpening? {
        guard let (use, address) = try? await open(request) else { return nil }
        let host = request[field: "host"] ?? ""
        return { [configuration, logger, sessions, refusals, encoders] loop in
            SocketSession(
                use, address, host: host, configuration.session, logger, sessions, refusals,
                encoders, on: loop)
        }
    }

    private func open(
        _ request: HTTPRequest
    ) async throws(LarderError) -> (NamespaceUse, SessionAddress) {
        let address = try SessionAddress(
            path: request.path, parameters: try RESTRequest(request).parameters,
            host: request[field: "host"] ?? "",
            defaultNamespace: RealtimeBackend.defaultNamespace)
        return (try await namespaces.use(address.namespace), address)
    }

    /// The response to a request for a WebSocket that was not accepted, or is none.
    private func refusal(of request: HTTPRequest) async -> HTTPResponse {
        do throws(LarderError) {
            _ = try await open(request)
        } catch {
            return HTTPResponse(error)
        }
        var response = HTTPResponse.failure(
            426, "/.ws is for WebSockets (RFC 6455, version 13) over HTTP/1.1")
        response.head.fields.append(("upgrade", "websocket"))
        return response
    }
}

extension RESTRequest {
    /// The request of a transport.
    fileprivate init(_ request: HTTPRequest) throws(LarderError) {
        try self.init(request.method, request.target, headers: request.fields, body: request.body)
    }

    /// The request of a transport, with its body.
    fileprivate init(reading request: HTTPRequest) throws(LarderError) {
        try self.init(request)
        bodyFile = try request.bodyFile?.open()
    }

    fileprivate var isForStream: Bool {
        header("accept")?.contains("text/event-stream") ?? false
    }
}

extension HTTPResponseHead {
    init(_ response: RESTResponse) {
        // HTTP/2 allows lowercase names only.
        self.init(
            status: response.status,
            fields: response.headers.map { ($0.name.lowercased(), $0.value) })
    }
}

extension HTTPResponse {
    fileprivate init(_ response: RESTResponse) {
        self.init(status: response.status, body: response.body)
        head = HTTPResponseHead(response)
    }

    /// The response to a request whose database cannot be used.
    fileprivate init(_ error: LarderError) {
        let status =
            switch error.kind {
            case .invalidArgument: 400
            case .notFound: 404
            default: 503
            }
        self = .failure(status, error.message)
    }
}
