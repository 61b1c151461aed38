import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import Synchronization

/// Commits a client's writes, feeds its listeners and talks to its backend, strictly in order.
///
/// The engine feeds events to state machines (``ActiveViews``, ``RemoteStore``, ``LimboResolver``,
/// ``MultiClient``) and performs their effects on store, remote and listeners. Requests arrive
/// through the ``Inbox``; all that wait are served in one turn, and consecutive writes share a
/// commit. Time, random numbers, disk and network come from the scheduler, store and remote, so
/// that its decisions depend on the order of requests and events alone.
actor Engine {
    typealias ID = UInt64
    typealias Completion = @Sendable (Result<Void, LarderError>) -> Void
    typealias Requests = Inbox<Command, QueuedWrite>

    /// One request.
    enum Command: Sendable {
        /// A write; consecutive writes share a commit.
        case write(QueuedWrite)
        /// A listener; the targets of consecutive listeners are stored in one commit.
        case listen(QueuedListener)
        /// An event of the watch stream.
        case watchStream(WatchEvent, generation: Int)
        /// An event of the write stream; consecutive responses share a commit.
        case writeStream(WriteEvent, generation: Int)
        /// A request to cancel a write; consecutive ones share a commit.
        case cancelWrite(QueuedCancellation)
        /// Anything else.
        case perform(@Sendable (isolated Engine) -> Void)

        fileprivate var write: QueuedWrite? {
            if case .write(let write) = self { write } else { nil }
        }
    }

    nonisolated let store: Store
    /// Whether the store is closed with the client.
    private nonisolated let ownsStore: Bool
    nonisolated let configuration: ClientConfiguration
    nonisolated let inbox: Requests
    nonisolated let indexing: Indexing
    private nonisolated let published: PublishedState

    // Listeners.
    var views: ActiveViews
    var targets = ActiveTargets()
    var limbo: LimboResolver
    var deliveries: [ID: @Sendable (Result<ViewSnapshot, LarderError>) -> Void] = [:]
    var loading = LoadingQueries() {
        didSet { published.isLoading.store(loading.isRunning, ordering: .releasing) }
    }
    var observers = EngineObservers()

    // Writes and bundles.
    var completions = WriteCompletions()
    var bundles = BundleLoads()

    // The backend.
    var remoteStore: RemoteStore
    var streams = OpenStreams()
    /// Commits writes once at a backend that does not keep their names; nil unless configured.
    var markedWrites: MarkedWrites?
    var calls: [ID: ServerCall] = [:]
    var timers: [EngineTimer: @Sendable () -> Void] = [:]
    private var isPumping = false
    var refusedWork = RefusedWork()

    // Other clients and processes.
    /// The part in a store that several clients share; nil for a store with one client.
    var multiClient: MultiClient?
    var follower = Follower()
    /// Keeps the watch for commits of others.
    var watch: AnyObject?

    /// The callers waiting for background work to end; nil while none runs.
    var maintenanceWaiters: [Completion]?
    /// The requests of this turn.
    private var commands: [Command] = []
    private(set) var isTerminated = false

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        scheduler.executor.asUnownedSerialExecutor()
    }

    nonisolated var scheduler: any Scheduler<EngineTimer> { configuration.scheduler }
    nonisolated var remote: (any Remote)? { configuration.remote }
    nonisolated var session: Session { published.session.withLock { $0 } }
    nonisolated var localStore: LocalStore { session.localStore }
    nonisolated var cacheRules: CacheRules { published.cacheRules.withLock { $0 } }
    /// True if a cache rule evicts documents; needs no lock, because every read asks.
    nonisolated var evictsByRules: Bool { published.evictsByRules.load(ordering: .relaxed) }
    /// True while the first query of a listener runs.
    nonisolated var isLoading: Bool { published.isLoading.load(ordering: .acquiring) }
    nonisolated var runner: QueryRunner { session.runner }
    /// Whether the backend is reachable.
    nonisolated var networkState: NetworkState { published.networkState.withLock { $0 } }
    var isPrimary: Bool { multiClient?.isPrimary ?? true }

    /// The maximum number of writes in one commit, which bounds the transaction.
    private static let writesPerCommit = 2_000
    /// The capacity for requests that is kept between turns.
    private static let keptCommandCount = 1_000

    init(
        _ store: Store, _ session: Session, _ configuration: ClientConfiguration,
        _ cacheRules: CacheRules, _ inbox: Requests, journal: SharedJournal?, ownsStore: Bool
    ) throws(LarderError) {
        self.store = store
        self.ownsStore = ownsStore
        self.configuration = configuration
        self.inbox = inbox
        // Without a remote a client is offline.
        views = ActiveViews(
            onlineState: configuration.remote == nil ? .offline : .unknown,
            isAuthoritative: cacheRules.isLocal)
        published = PublishedState(
            session, NetworkState(views.onlineState, .notAsked), cacheRules)
        limbo = LimboResolver(limit: configuration.maxConcurrentLimboResolutions)
        let names = try configuration.remote.map { _ throws(LarderError) in
            BatchNames(
                client: try store.clientName(orMake: configuration.makeName),
                writer: configuration.makeName())
        }
        if let names, let collection = configuration.markerCollection {
            markedWrites = MarkedWrites(collection: collection, client: names.client)
        }
        remoteStore = RemoteStore(
            databaseID: configuration.databaseID, maxDocumentBytes: store.maxDocumentBytes,
            online: OnlineStateTracker(
                timeout: configuration.answerTimeout,
                remembersOutages: configuration.remembersOutages),
            names: names,
            writePipelineDepth: configuration.remote?.writePipelineDepth ?? 0,
            jitter: configuration.scheduler.random)
        indexing = try Indexing(store, makesIndexes: configuration.makesIndexes)
        guard let journal else { return }
        remoteStore.disableNetwork(reason: .notPrimary)
        try session.localStore.begin(.renewLease)
        multiClient = try journal.join(
            configuration, store, evicts: ownsStore, isLocal: cacheRules.isLocal)
    }

    /// A number that no other request of this engine has.
    nonisolated func newID() -> ID {
        published.lastID.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Adds a request and wakes the engine for it.
    ///
    /// - Returns: false when the engine has ended.
    nonisolated func add(_ command: Command) -> Bool {
        guard let mustWake = inbox.add(command, write: command.write) else { return false }
        if mustWake { wake() }
        return true
    }

    /// Resumes what an earlier process left: indexes being filled or removed, pending writes.
    ///
    /// A client that only reads follows the writing process instead.
    nonisolated func start() {
        _ = add(
            .perform {
                if $0.configuration.storage.access == .readOnly {
                    $0.follow()
                } else {
                    $0.maintain()
                    $0.startSharing()
                    $0.adopt($0.cacheRules)
                    $0.collect()
                    if $0.remote != nil { $0.remoteStore.fillWritePipeline() }
                }
            })
    }

    nonisolated func log(_ message: String) {
        configuration.storage.log?(.warning, message)
    }

    func publish(_ session: Session) {
        published.session.withLock { $0 = session }
    }

    func publish(_ networkState: NetworkState) {
        published.networkState.withLock { $0 = networkState }
    }

    func publish(_ rules: CacheRules) {
        published.cacheRules.withLock { $0 = rules }
        published.evictsByRules.store(rules.evicts, ordering: .relaxed)
    }

    // MARK: Turns

    private nonisolated func wake() {
        scheduler.run { self.takeTurn() }
    }

    /// Serves, on the executor; as `assumeIsolated` would, which allocates at each call.
    private nonisolated func takeTurn() {
        scheduler.executor.checkIsolated()
        let serve: (isolated Engine) -> Void = { $0.serve() }
        unsafeBitCast(serve, to: ((Engine) -> Void).self)(self)
    }

    /// Serves the waiting requests; those that this leads to are served next.
    private func serve() {
        inbox.take(&commands)
        serveCommands()
        commands.removeAll(keepingCapacity: commands.count < Self.keptCommandCount)
        if inbox.endTurn() { wake() }
    }

    private func serveCommands() {
        guard !commands.isEmpty else { return }
        remoteStore.now = scheduler.uptime
        noteTime()
        var (writes, listeners) = ([QueuedWrite](), [QueuedListener]())
        var cancellations: [QueuedCancellation] = []
        for (index, command) in commands.enumerated() {
            if case .cancelWrite(let cancellation) = command {
                if cancellations.isEmpty {
                    commit(&writes)
                    addListeners(&listeners)
                    pump()
                }
                cancellations.append(cancellation)
                if cancellations.count == Self.writesPerCommit { cancelWrites(&cancellations) }
                continue
            }
            cancelWrites(&cancellations)
            switch command {
            case .write(let write):
                addListeners(&listeners)
                writes.append(write)
                if writes.count == Self.writesPerCommit { commit(&writes) }
            case .listen(let listener):
                commit(&writes)
                listeners.append(listener)
            case .perform(let body):
                commit(&writes)
                addListeners(&listeners)
                pump()
                body(self)
                pump()
            case .watchStream(let event, let generation):
                commit(&writes)
                addListeners(&listeners)
                pump()
                receive(
                    event, generation,
                    precedesSnapshot: commands[(index + 1)...].completeSnapshot(
                        after: event, generation))
                pump()
            case .writeStream(let event, let generation): receive(event, generation)
            case .cancelWrite: break
            }
        }
        cancelWrites(&cancellations)
        commit(&writes)
        addListeners(&listeners)
        endStep()
    }

    /// Performs what is left of a turn or a timer.
    func endStep() {
        pump()
        publishChanges()
        sendQueueChanges()
    }

    /// Performs the effects of the remote store until there are none.
    func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while true {
            let effects = remoteStore.takeEffects()
            if effects.isEmpty { return }
            // Consecutive acknowledgements share a commit.
            var commits: [(batchID: Int64, response: CommitResponse)] = []
            for effect in effects {
                if case .acknowledge(let batchID, let response) = effect {
                    commits.append((batchID, response))
                } else {
                    acknowledge(&commits)
                    perform(effect)
                }
            }
            acknowledge(&commits)
        }
    }

    // MARK: The end

    func terminate(_ completion: @escaping Completion) {
        guard !isTerminated else { return afterEnd(completion) }
        isTerminated = true
        for command in inbox.close() {
            switch command {
            case .write(let write):
                release(1)
                write.committed(.failure(Client.terminated))
            case .listen(let listener): listener.deliver(.failure(Client.terminated))
            case .cancelWrite(let cancellation):
                cancellation.completion(.failure(Client.terminated))
            case .perform(let body): body(self)
            case .watchStream, .writeStream: break
            }
        }
        endNetwork()
        let end = LarderError(.cancelled, "the client was terminated")
        completions.failWaiters(end)
        completions.failAcknowledgements(end)
        refusedWork.fail(end)
        failCalls(end)
        bundles.fail(end)
        finishMaintenance(.failure(end))
        failWaitingListeners()
        stopSharing()
        deliveries = [:]
        observers = EngineObservers()
        watch = nil
        closeStore(completion)
    }

    /// Calls the closure when the end that has begun is over, and the store closed.
    nonisolated func afterEnd(_ completion: @escaping Completion) {
        scheduler.run { self.closeStore(completion) }
    }

    private nonisolated func closeStore(_ completion: @escaping Completion) {
        if ownsStore { store.closeWhenIdle(completion) } else { completion(.success(())) }
    }
}

/// The state of an engine that other threads read.
private final class PublishedState: Sendable {
    let session: Mutex<Session>
    let networkState: Mutex<NetworkState>
    let cacheRules: Mutex<CacheRules>
    let evictsByRules: Atomic<Bool>
    let isLoading = Atomic<Bool>(false)
    let lastID = Atomic<Engine.ID>(0)

    init(_ session: Session, _ networkState: NetworkState, _ cacheRules: CacheRules) {
        self.cacheRules = Mutex(cacheRules)
        evictsByRules = Atomic(cacheRules.evicts)
        self.session = Mutex(session)
        self.networkState = Mutex(networkState)
    }
}

/// The observers of an engine.
struct EngineObservers {
    var pendingWrites = ListObservers<MutationBatch>()
    var deadLetters = ListObservers<DeadLetter>()
    var network = Observers<NetworkState>()
    var snapshotsInSync = Observers<Void>()
}
