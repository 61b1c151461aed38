import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderRuntime
import LarderSharedTestSupport
import LarderStorage
import Testing

/// A client on a manual clock, whose events and completions are recorded as text.
final class EngineUnderTest {
    let scheduler: ManualScheduler<DatabaseTimer>
    let server = ScriptedServer()
    let tokens = ScriptedTokens()
    let client: DatabaseClient
    private let log = Box<[String]>([])
    /// What the engine has logged.
    let warnings = Box<[String]>([])
    private var lastListener: UInt = 0

    init(
        _ storage: StoreConfiguration? = nil, store: Store? = nil, isLocal: Bool = false,
        usesTokens: Bool = false, clock: ManualClock = ManualClock(),
        _ configure: (inout DatabaseClientConfiguration) -> Void = { _ in }
    ) throws {
        scheduler = ManualScheduler(clock: clock)
        var configuration = DatabaseClientConfiguration(storage: storage)
        configuration.scheduler = scheduler
        configuration.remote = isLocal ? nil : server
        if usesTokens { configuration.tokens = tokens }
        configuration.clock = { clock.timestamp }
        let warnings = warnings
        configuration.log = { line in warnings.withLock { $0.append(line) } }
        configure(&configuration)
        client = try DatabaseClient(configuration, store: store)
        scheduler.drain()
    }

    /// The newest connection.
    var connection: ScriptedConnection {
        get throws { try #require(server.connections.last) }
    }

    /// What has happened since the last call.
    func read() -> [String] {
        scheduler.drain()
        return log.withLock { log in
            defer { log = [] }
            return log
        }
    }

    /// Evicts all that can be, and records how many queries went.
    func evict() {
        let log = log
        client.evict(toBytes: 0) { result in
            let count = (try? result.get())?.queryCount ?? -1
            log.withLock { $0.append("evicted \(count)") }
        }
        scheduler.drain()
    }

    /// Accepts the newest connection.
    func connect(session: String = "s1", namesID: String? = nil) throws {
        try connection.open(session: session, namesID: namesID)
        scheduler.drain()
    }

    /// Lets time pass, with the timers that are due.
    func advance(by duration: Duration) {
        scheduler.clock.advance(by: duration)
        scheduler.fireDue()
        scheduler.drain()
    }

    // MARK: Requests

    /// Adds a listener whose events are recorded under a name.
    @discardableResult
    func listen(
        _ query: QuerySpec, as name: String = "",
        _ types: Set<TreeEventType> = Set(TreeEventType.allCases)
    ) -> ListenerID {
        lastListener += 1
        let id = ListenerID(lastListener)
        let prefix = name.isEmpty ? "" : name + ": "
        let log = log
        client.listen(to: query, Listener(id, types)) { event in
            log.withLock { $0.append(prefix + event.text) }
        }
        scheduler.drain()
        return id
    }

    @discardableResult
    func listen(_ path: String, as name: String = "") -> ListenerID {
        listen(QuerySpec(TreePath(path)), as: name)
    }

    /// Makes a write whose stages are recorded.
    func write(_ request: WriteRequest, as name: String = "") {
        let log = log
        client.write(
            request,
            committed: { result in
                log.withLock { $0.append(name + " " + result.text("made")) }
            },
            acknowledged: { result in
                log.withLock { $0.append(name + " " + result.text("acknowledged")) }
            })
        scheduler.drain()
    }

    /// Makes a write without a record of its stages.
    func set(_ path: String, _ json: JSONValue) throws {
        let path = TreePath(path)
        client.write(
            .overwrite(path, try Node(validating: json, at: path)), committed: { _ in },
            acknowledged: { _ in })
        scheduler.drain()
    }

    /// Increments a number in a transaction, whose inputs and outcome are recorded.
    func increment(_ path: String, as name: String) {
        let log = log
        client.runTransaction(
            at: TreePath(path), localEvents: true,
            { (node) throws(LarderError) in
                log.withLock { $0.append("\(name) sees \(node.text)") }
                guard case .number(let number)? = node.leafValue, let count = number.integer else {
                    return Node(.integer(1))
                }
                return Node(.integer(count + 1))
            },
            completion: { result in
                let text = (try? result.get()).map { "committed \($0.node.text)" } ?? ""
                log.withLock { $0.append(name + " " + result.text(text)) }
            })
        scheduler.drain()
    }

    func get(_ query: QuerySpec, as name: String = "get") {
        let log = log
        client.get(query) { result in
            log.withLock {
                switch result {
                case .success(let answer):
                    $0.append(
                        "\(name): \(answer.node.text)"
                            + (answer.metadata.isFromCache ? " from cache" : ""))
                case .failure(let error): $0.append("\(name): \(error.kind)")
                }
            }
        }
        scheduler.drain()
    }

    func arm(_ operation: DisconnectOperation, as name: String) {
        let log = log
        client.arm(operation) { result in
            log.withLock { $0.append(name + " " + result.text("recorded")) }
        }
        scheduler.drain()
    }
}

/// Tokens that a test hands out.
final class ScriptedTokens: TokenSource {
    private let waiting = Box<[(isForced: Bool, completion: Completion<String?>)]>([])

    func fetchToken(forcingRefresh: Bool, _ completion: @escaping Completion<String?>) {
        waiting.withLock { $0.append((forcingRefresh, completion)) }
    }

    /// Answers the oldest request; returns whether a new token was asked for.
    @discardableResult
    func answer(_ result: Result<String?, LarderError>) throws -> Bool {
        let request = try #require(
            waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() })
        request.completion(result)
        return request.isForced
    }

    var isAsked: Bool { waiting.withLock { !$0.isEmpty } }
}

extension Result where Failure == LarderError {
    func text(_ success: String) -> String {
        switch self {
        case .success: success
        case .failure(let error): "failed: \(error.kind)"
        }
    }
}

extension Node {
    var text: String {
        var bytes: [UInt8] = []
        JSONWriter.append(exportedJSON, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension TreeEvent {
    var text: String {
        switch change {
        case .value(let node): "value \(node.text)"
        case .child(let type, let child, let previous):
            "\(type) \(child.key) \(child.node.text)" + (previous.map { " after \($0)" } ?? "")
        case .cancelled(let error): "cancelled: \(error.kind)"
        }
    }
}

extension ScriptedConnection {
    /// The requests since the last call as text.
    func readText() -> [String] {
        read().map { "\($0.number) \($0.request.text)" }
    }
}

extension RealtimeRequest {
    var text: String {
        switch self {
        case .authenticate(let token, _): "auth \(token)"
        case .unauthenticate: "unauth"
        case .listen(let query, let tag, let hash, let compound):
            "listen \(query.path)" + (tag.map { " tag \($0)" } ?? "")
                + (hash.isEmpty ? "" : " with hash") + (compound == nil ? "" : " and ranges")
        case .unlisten(let query, let tag):
            "unlisten \(query.path)" + (tag.map { " tag \($0)" } ?? "")
        case .get(let query): "get \(query.path)"
        case .put(let path, let node, let hash):
            "put \(path) \(node.text)" + (hash.map { " if \($0)" } ?? "")
        case .merge(let path, let values):
            "merge \(path) "
                + values.map { "\($0.path.text)=\($0.node.text)" }.joined(separator: " ")
        case .onDisconnectPut(let path, let node): "onDisconnect put \(path) \(node.text)"
        case .onDisconnectMerge(let path, let values):
            "onDisconnect merge \(path) "
                + values.map { "\($0.path.text)=\($0.node.text)" }.joined(separator: " ")
        case .once(_, let write): write.text
        case .onDisconnectCancel(let path): "onDisconnect cancel \(path)"
        case .statistics: "statistics"
        }
    }
}
