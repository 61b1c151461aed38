package import LarderCore
package import LarderRealtimeBackend
package import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeRules
import Synchronization

/// The REST interface of a backend, without a transport: requests to answers and event streams.
package struct RESTService: Sendable {
    /// The methods of requests.
    package static let methods = "GET, PUT, POST, PATCH, DELETE"

    /// The path of the security rules.
    package static let rulesPath = "/.settings/rules.json"

    /// The size of the largest write, in bytes.
    package static let maxWriteBytes = RESTCall.maximumBytes

    private let backend: RealtimeBackend
    private let pushIDs: PushIDGenerator
    private let messages = EventMessages()

    package init(_ backend: RealtimeBackend, pushIDs: PushIDGenerator = PushIDGenerator()) {
        self.backend = backend
        self.pushIDs = pushIDs
    }

    /// An answer, or a part of a stream.
    package enum Output: Sendable, Equatable {
        /// The answer, and the end.
        case response(RESTResponse)
        /// The head of an event stream.
        case streamBegan(RESTResponse)
        case streamData(SharedBytes)
        case streamEnded
    }

    /// Serves a request; what web pages may send and read is decided by what mounts the service.
    ///
    /// - Parameters:
    ///   - client: the client that takes its turn; nil for the server itself.
    ///   - memory: an account of the ledger that the messages of streams are charged to.
    ///   - handler: called on any thread, for one output after the other.
    /// - Returns: the stream, which ends when it is closed or released; nil for other requests.
    package func serve(
        _ request: RESTRequest, for client: ObjectIdentifier? = nil, memory: MemoryAccount? = nil,
        _ handler: @escaping @Sendable (Output) -> Void
    ) -> RESTStream? {
        let respond: @Sendable (RESTResponse) -> Void = { handler(.response($0)) }
        do throws(RESTError) {
            let user = try RESTCredentials.user(of: request, backend)
            if request.path == Self.rulesPath {
                try serveRules(request, user, respond)
                return nil
            }
            let call = try RESTCall(request)
            if case .stream(let parameters) = call.operation {
                return stream(call, parameters, user, memory, handler)
            }
            let finish: @Sendable (RESTResponse) -> Void = { respond($0.adapted(to: request)) }
            perform(call, user, for: client, finish)
        } catch {
            respond(RESTResponse(error))
        }
        return nil
    }

    private func perform(
        _ call: RESTCall, _ user: RealtimeUser?, for client: ObjectIdentifier?,
        _ respond: @escaping @Sendable (RESTResponse) -> Void
    ) {
        switch call.operation {
        case .read(let parameters, let isShallow):
            let query = QuerySpec(call.path, parameters ?? .default)
            backend.read(query, as: user, in: call.namespace, for: client) { result in
                respond(call.response(to: result, isShallow: isShallow))
            }
        case .set(let node):
            write(TreeWrite(call.path, node, isValid: true), call, user, for: client, respond)
        case .remove: write(TreeWrite(call.path, .empty), call, user, for: client, respond)
        case .update(let values):
            write(TreeWrite(call.path, values, areValid: true), call, user, for: client, respond)
        case .push(let node):
            let key = pushIDs.next(at: backend.milliseconds)
            let name = JSONValue.object([JSONMember("name", .string(key.text))])
            write(
                TreeWrite(call.path.child(key), node), call, user, for: client, answering: name,
                respond)
        case .stream: break
        }
    }

    private func write(
        _ write: TreeWrite, _ call: RESTCall, _ user: RealtimeUser?,
        for client: ObjectIdentifier?, answering json: JSONValue? = nil,
        _ respond: @escaping @Sendable (RESTResponse) -> Void
    ) {
        backend.write(
            write, ifHash: call.expectedHash, as: user, in: call.namespace, for: client
        ) { result in
            respond(call.response(to: result, answering: json))
        }
    }

    // MARK: Streams

    private func stream(
        _ call: RESTCall, _ parameters: QueryParameters?, _ user: RealtimeUser?,
        _ memory: MemoryAccount?, _ handler: @escaping @Sendable (Output) -> Void
    ) -> RESTStream {
        let stream = RESTStream(
            EventStream(of: call.path, hasPriorities: call.hasPriorities, messages, memory)
        ) { action in
            switch action {
            case .respond(let response): handler(.response(response))
            case .begin(let head): handler(.streamBegan(head))
            case .send(let bytes): handler(.streamData(bytes))
            case .end: handler(.streamEnded)
            }
        }
        let query = QuerySpec(call.path, parameters?.normalized ?? .default)
        stream.open(
            backend.listen(to: query, as: user, in: call.namespace) { [weak stream] event in
                stream?.receive(event)
            })
        return stream
    }

    // MARK: Rules

    private func serveRules(
        _ request: RESTRequest, _ user: RealtimeUser?,
        _ respond: @escaping @Sendable (RESTResponse) -> Void
    ) throws(RESTError) {
        guard user?.isAdministrator == true else { throw .denied }
        let namespace = request.namespace
        switch request.method {
        case "GET":
            var response = RESTResponse(200)
            response.add("Content-Type", "application/json; charset=utf-8")
            let text = backend.securityRules(of: namespace)?.text ?? SecurityRules.openText
            switch request.parameter("format") {
            case nil: response.body = Array(text.utf8)
            case "strict":
                PrettyJSON.append(SecurityRules.json(of: text) ?? .null, to: &response.body)
            default: throw .invalid("format must be 'strict'")
            }
            respond(response)
        case "PUT":
            guard let text = String(validating: request.body, as: UTF8.self) else {
                throw .invalidData
            }
            let rules: SecurityRules
            do throws(LarderError) {
                rules = try SecurityRules(text)
            } catch {
                throw .invalid(error.message)
            }
            backend.storeSecurityRules(rules, of: namespace) { result in
                switch result {
                case .success:
                    respond(
                        RESTResponse(200, json: .object([JSONMember("status", .string("ok"))])))
                case .failure(let error): respond(RESTResponse(RESTError(503, error.message)))
                }
            }
        default: throw RESTError(405, "The method \(request.method) is not allowed")
        }
    }
}

/// A stream of events that is served; it ends when it is released.
package final class RESTStream: Sendable {
    private enum State {
        case opening
        case open(any RealtimeConnection)
        case closed
    }

    private let events: Mutex<EventStream>
    private let perform: @Sendable (EventStream.Action) -> Void
    private let state = Mutex(State.opening)

    init(_ events: EventStream, _ perform: @escaping @Sendable (EventStream.Action) -> Void) {
        self.events = Mutex(events)
        self.perform = perform
    }

    /// Keeps the connection that events come from; closes it if the stream has ended meanwhile.
    fileprivate func open(_ connection: any RealtimeConnection) {
        let isOpen = state.withLock { state in
            guard case .opening = state else { return false }
            state = .open(connection)
            return true
        }
        if !isOpen { connection.close() }
    }

    fileprivate func receive(_ event: ConnectionEvent) {
        for action in events.withLock({ $0.receive(event) }) {
            switch action {
            case .respond, .end: close()
            case .begin, .send: break
            }
            perform(action)
        }
    }

    /// Ends the stream, for clients that have gone.
    package func close() {
        let connection: (any RealtimeConnection)? = state.withLock { state in
            defer { state = .closed }
            if case .open(let connection) = state { return connection }
            return nil
        }
        connection?.close()
    }
}
