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

    init(
        storage: any TreeStorage,
        _ configure: (inout RealtimeBackendConfiguration) -> Void = { _ in }
    ) throws {
        backend = try RealtimeBackend(
            Self.configuration(scheduler, configure), storage: storage)
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
        sendLater(request)
        backend.scheduler.drain()
    }

    /// Sends a request, which waits.
    func sendLater(_ request: RealtimeRequest) {
        lastNumber += 1
        connection?.send(request, number: lastNumber)
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

    /// Closes the connection; what follows waits.
    func closeLater() { connection?.close() }

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
