import LarderCore
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderRuntime
import LarderSharedTestSupport

/// A backend on a manual scheduler, whose work is done before each call returns.
final class TestBackend {
    let scheduler = ManualScheduler<RealtimeBackend.Timer>()
    let backend: RealtimeBackend

    init(_ configure: (inout RealtimeBackendConfiguration) -> Void = { _ in }) {
        backend = RealtimeBackend(Self.configuration(scheduler, configure))
    }

    init(storage: any TreeStorage) throws {
        backend = try RealtimeBackend(Self.configuration(scheduler) { _ in }, storage: storage)
    }

    deinit {
        scheduler.retire()
    }

    private static func configuration(
        _ scheduler: ManualScheduler<RealtimeBackend.Timer>,
        _ configure: (inout RealtimeBackendConfiguration) -> Void
    ) -> RealtimeBackendConfiguration {
        var configuration = RealtimeBackendConfiguration()
        configuration.scheduler = scheduler
        let clock = scheduler.clock
        configuration.clock = { clock.timestamp }
        configuration.makeIdentity = { 35 }
        configure(&configuration)
        return configuration
    }

    var tree: Node { backend.tree() }

    /// Does something with the backend, and the work that follows.
    func perform(_ body: (RealtimeBackend) -> Void) {
        body(backend)
        scheduler.drain()
    }

    func connect(lastSession: String? = nil) -> TestConnection {
        TestConnection(self, lastSession: lastSession)
    }

    /// Writes a value in the export format as an administrator.
    func set(_ path: String, _ text: String) throws {
        let node = try Node(parsing: text)
        perform { $0.write(TreeWrite(TreePath(path), node)) }
    }
}

/// A client's connection, which keeps what it receives as short texts.
///
///
/// - `hello ID`, `reset HOST`, `shutdown REASON`, `closed CODE`;
/// - `N status`, with the reason or the payload, for the answer to request N;
/// - `d /path VALUE`, `m /path {path: VALUE, …}`, `rm /path (start, end] VALUE`, each with `#TAG` for a
///   tagged one; `c /path`, `ac STATUS`.
final class TestConnection {
    private let backend: TestBackend
    private let events = Box<[ConnectionEvent]>([])
    private var connection: (any RealtimeConnection)?
    private var lastNumber = 0

    init(_ backend: TestBackend, lastSession: String? = nil) {
        self.backend = backend
        let events = events
        connection = backend.backend.remote().connect(ConnectRequest(lastSessionID: lastSession)) {
            event in events.withLock { $0.append(event) }
        }
        backend.scheduler.drain()
    }

    /// Sends a request and returns everything that has arrived since the last call.
    @discardableResult
    func send(_ request: RealtimeRequest) -> [String] {
        enqueue(request)
        return received()
    }

    /// Sends a request, whose answer arrives.
    func enqueue(_ request: RealtimeRequest) {
        lastNumber += 1
        connection?.send(request, number: lastNumber)
        backend.scheduler.drain()
    }

    /// Everything that has arrived since the last call.
    func received() -> [String] { receivedEvents().map(\.text) }

    func receivedEvents() -> [ConnectionEvent] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    func close() {
        connection?.close()
        backend.scheduler.drain()
    }

    /// Releases the connection without closing it.
    func drop() {
        connection = nil
        backend.scheduler.drain()
    }

    // MARK: Requests

    func put(_ path: String, _ text: String, hash: String? = nil) throws -> [String] {
        send(.put(TreePath(path), try Node(parsing: text), hash: hash))
    }

    func merge(_ path: String, _ values: [(String, String)]) throws -> [String] {
        send(.merge(TreePath(path), try Self.values(values)))
    }

    func listen(_ path: String, hash: String = "") -> [String] {
        send(.listen(QuerySpec(TreePath(path)), tag: nil, hash: hash, compoundHash: nil))
    }

    func listen(
        _ path: String, tag: Int, hash: String = "",
        _ build: (QueryBuilder) throws -> QueryBuilder
    ) throws -> [String] {
        let query = QuerySpec(TreePath(path), try build(QueryBuilder()).parameters)
        return send(.listen(query, tag: tag, hash: hash, compoundHash: nil))
    }

    static func values(_ values: [(String, String)]) throws -> [PathValue] {
        try values.map { PathValue(TreePath($0.0), try Node(parsing: $0.1)) }
    }
}

extension ConnectionEvent {
    var text: String {
        switch self {
        case .opened(let hello): "hello \(hello.sessionID)"
        case .response(let number, let response): "\(number) \(response.text)"
        case .push(let push): push.text
        case .reset(let host): "reset \(host)"
        case .shutdown(let reason): "shutdown \(reason)"
        case .closed(let error): "closed" + (error.map { " \($0.kind)" } ?? "")
        }
    }
}

extension RealtimeResponse {
    fileprivate var text: String {
        switch payload {
        case .node(let node): "\(status.rawValue) \(node)"
        case .none, .json: status.rawValue
        }
    }
}

extension RealtimePush {
    fileprivate var text: String {
        func suffix(_ tag: Int?) -> String { tag.map { " #\($0)" } ?? "" }
        switch self {
        case .overwrite(let path, let node, let tag): return "d \(path) \(node)" + suffix(tag)
        case .merge(let path, let values, let tag):
            let list = values.map { "\($0.path.text): \($0.node)" }.joined(separator: ", ")
            return "m \(path) {\(list)}" + suffix(tag)
        case .rangeMerge(let path, let merges, let tag):
            let list = merges.map {
                "(\($0.start?.text ?? ""), \($0.end?.text ?? "")] \($0.content)"
            }
            return "rm \(path) \(list.joined(separator: " "))" + suffix(tag)
        case .listenRevoked(let path, _): return "c \(path)"
        case .authenticationRevoked(let status, _): return "ac \(status.rawValue)"
        case .securityDebug(let text): return "sd \(text)"
        }
    }
}
