import LarderBackend
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import LarderTestSupport
import Synchronization

/// Clients of one process that share a store, a clock and a backend; all of it on the test's
/// thread.
final class SharingWorld {
    private(set) var store: Store
    private let storage: StoreConfiguration
    let clock = ManualClock()
    let signals = SignalHub()
    let backend: Backend
    private let backendScheduler: ManualScheduler
    /// Those of the backend and of all clients there ever were.
    private var schedulers: [ManualScheduler]
    private(set) var clients: [SharingClient] = []

    init(
        _ storage: StoreConfiguration = .inMemory(),
        rules: @escaping Backend.Rules = { _ in .allow }
    ) throws {
        self.storage = storage
        store = try Store(storage)
        let (clock, scheduler) = (clock, ManualScheduler(clock: clock))
        backendScheduler = scheduler
        schedulers = [scheduler]
        var configuration = BackendConfiguration(project: "test")
        configuration.rules = rules
        configuration.clock = { clock.timestamp }
        configuration.enqueue = { scheduler.run($0) }
        backend = try Backend(configuration)
    }

    deinit {
        for scheduler in schedulers { scheduler.retire() }
    }

    /// A client that comes now; the test drains it.
    func open(
        _ id: String, user: String = "", isForeground: Bool = false, isLocal: Bool = false,
        guarding: LocalStore.Guard? = nil
    ) throws -> SharingClient {
        let scheduler = ManualScheduler(clock: clock)
        schedulers.append(scheduler)
        var configuration = ClientConfiguration(
            storage: .inMemory(), databaseID: DatabaseID(project: "test"))
        configuration.user = UserID(user)
        configuration.isLocal = isLocal
        if !isLocal { configuration.remote = backend }
        configuration.scheduler = scheduler
        configuration.guarding = guarding
        let clock = clock
        configuration.clock = { clock.timestamp }
        configuration.sharing = Sharing(clientID: id, signal: signals, isForeground: isForeground)
        let client = SharingClient(id, try Client(configuration, store: store), scheduler)
        clients.append(client)
        return client
    }

    /// Ends all clients, and closes the store while something is done to its files.
    func reopenStore(_ change: () throws -> Void) throws {
        for client in clients { close(client) }
        try store.close()
        try change()
        store = try Store(storage)
    }

    /// Forgets a client as if its process had been killed: it does nothing any more.
    func kill(_ client: SharingClient) {
        clients.removeAll { $0 === client }
    }

    /// Goes on with a client that was killed: it was only asleep, and its timers are long due.
    func wake(_ client: SharingClient) {
        clients.append(client)
        client.scheduler.fireDue()
        settle()
    }

    /// Ends a client in good order.
    func close(_ client: SharingClient) {
        client.client.terminate { _ in }
        client.scheduler.drain()
        kill(client)
        settle()
    }

    /// Runs what waits at the backend.
    @discardableResult
    func drainBackend() -> Bool { backendScheduler.drain() }

    /// Runs everything that waits, until nothing does.
    func settle() {
        while clients.reduce(drainBackend(), { $1.scheduler.drain() || $0 }) {}
    }

    /// Turns the clock on in small steps, and lets what is due then happen.
    func pass(_ duration: Duration) {
        let end = clock.now + duration
        while clock.now < end {
            clock.advance(by: min(.milliseconds(500), end - clock.now))
            for client in clients { client.scheduler.fireDue() }
            settle()
        }
    }

    /// The clients that use the network.
    var primaries: [String] { clients.filter { $0.state?.isPrimary == true }.map(\.id) }

    /// How many rows of a kind the store has.
    func rowCount(_ kind: NamedValue.Kind) throws -> Int {
        try store.read { (transaction) throws(LarderError) in
            try transaction.namedValueCount(kind)
        }
    }
}

/// One of the clients, with what its listeners have heard.
final class SharingClient {
    let id: String
    let client: Client
    let scheduler: ManualScheduler
    private let heard = Hearing()
    private var registrations: [String: ClientRegistration] = [:]

    /// What the listeners have heard, by name.
    private final class Hearing: Sendable {
        let listeners = Mutex<[String: Heard]>([:])
    }

    /// What one listener has heard so far.
    struct Heard: Sendable {
        /// The result, as the changes that were told make it.
        var documents: [DocumentPath: Document] = [:]
        /// How many snapshots came.
        var count = 0
        /// The last snapshot.
        var last: ViewSnapshot?
        /// Why nothing more comes.
        var error: LarderError?
    }

    init(_ id: String, _ client: Client, _ scheduler: ManualScheduler) {
        self.id = id
        self.client = client
        self.scheduler = scheduler
    }

    /// Begins to listen to a query, under a name.
    func listen(_ name: String, _ query: Query, source: ListenOptions.Source = .default) {
        heard.listeners.withLock { $0[name] = Heard() }
        let options = ListenOptions(includeMetadataChanges: true, source: source)
        registrations[name] = client.listen(to: query, options: options) { [heard] result in
            heard.listeners.withLock { $0[name]?.take(result) }
        }
    }

    /// Listens no longer.
    func unlisten(_ name: String) {
        registrations.removeValue(forKey: name)?.remove()
        heard.listeners.withLock { _ = $0.removeValue(forKey: name) }
    }

    /// The names under which it listens.
    var listeners: [String] { registrations.keys.sorted() }

    subscript(name: String) -> Heard { heard.listeners.withLock { $0[name] ?? Heard() } }

    /// What the engine is at; nil once the client has ended.
    var state: EngineState? {
        let state = Mutex<EngineState?>(nil)
        client.inspect { inspected in state.withLock { $0 = inspected } }
        scheduler.drain()
        return state.withLock { $0 }
    }

    /// Writes, and gives what became of it.
    @discardableResult
    func write(_ mutations: [Mutation]) -> Outcome {
        let outcome = Outcome()
        client.write(
            mutations, committed: { result in outcome.batchID.withLock { $0 = result } },
            acknowledged: { result in outcome.answer.withLock { $0 = result } })
        return outcome
    }

    final class Outcome: Sendable {
        let batchID = Mutex<Result<Int64, LarderError>?>(nil)
        let answer = Mutex<Result<Void, LarderError>?>(nil)

        var isAcknowledged: Bool {
            if case .success? = answer.withLock({ $0 }) { true } else { false }
        }

        var failure: LarderError? {
            if case .failure(let error)? = answer.withLock({ $0 }) { error } else { nil }
        }

        var id: Int64? { try? batchID.withLock { $0 }?.get() }
    }
}

extension SharingClient.Heard {
    mutating func take(_ result: Result<ViewSnapshot, LarderError>) {
        switch result {
        case .success(let snapshot):
            count += 1
            last = snapshot
            for change in snapshot.changes {
                let document = change.document
                documents[document.path] = change.kind == .removed ? nil : document
            }
        case .failure(let error): self.error = error
        }
    }
}

extension Mutation {
    /// Gives a document one field.
    static func set(_ path: String, _ number: Int) throws -> Mutation {
        Mutation(
            .set(try Record(["n": .integer(Int64(number))])), at: try DocumentPath(path))
    }

}

extension Query {
    /// All documents of a collection.
    static func all(_ collection: String) throws -> Query {
        Query(.collection(try CollectionPath(collection)))
    }
}
