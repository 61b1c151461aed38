import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import Synchronization

typealias EngineInbox = Inbox<Engine.Command, QueuedWrite>

/// The one place where a client's writes are committed, its listeners told and its backend spoken
/// to, one thing after the other.
///
/// Requests come through the ``Inbox``; everything that is there when the engine looks is served
/// in order, and writes next to each other share a commit. What it decides depends on the order
/// of requests and events alone: time, chance, disk and network come through its scheduler,
/// store and remote.
actor Engine {
    typealias ID = UInt64
    typealias Completion = @Sendable (Result<Void, LarderError>) -> Void

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
        /// Anything else, on the engine.
        case perform(@Sendable (isolated Engine) -> Void)

        fileprivate var write: QueuedWrite? {
            if case .write(let write) = self { write } else { nil }
        }
    }

    nonisolated let store: Store
    /// Whether the store is closed with the client.
    nonisolated let ownsStore: Bool
    nonisolated let scheduler: any Scheduler<EngineTimer>
    nonisolated let remote: (any Remote)?
    nonisolated let automaticIndexes: AutomaticIndexes
    nonisolated let maintenance: IndexMaintenance
    nonisolated let collectsEagerly: Bool
    nonisolated let maxWriteAttempts: Int?
    /// How long a read or a commit at the backend may take.
    nonisolated let callTimeout: Duration
    /// The local clock, for the times of writes.
    nonisolated let clock: @Sendable () -> Timestamp
    nonisolated let inbox: EngineInbox
    private nonisolated let sessionLock: Mutex<Session>
    private nonisolated let networkStateLock: Mutex<NetworkState>
    private nonisolated let log: (@Sendable (StoreConfiguration.LogLevel, String) -> Void)?
    private nonisolated let lastID = Atomic<ID>(0)

    // What is listened to.
    var views: ActiveViews
    var deliveries: [ID: @Sendable (Result<ViewSnapshot, LarderError>) -> Void] = [:]
    var inSyncListeners: [ID: @Sendable () -> Void] = [:]
    /// Views whose first query is running.
    var loadingCount = 0
    var loadingWaiters: [@Sendable () -> Void] = []
    var targets = ActiveTargets()
    var limbo: LimboResolver

    // Bundles.
    /// Those that are being loaded.
    var bundles: [ID: BundleLoad] = [:]
    /// Targets that keep what bundles have brought.
    var bundleTargets: Set<Int32> = []

    // What is written.
    var pendingObservers = ListObservers<PendingBatch>()
    var deadLetterObservers = ListObservers<DeadLetter>()
    /// Whom to tell when the backend has answered, by batch.
    var acknowledgements: [Int64: Completion] = [:]
    /// How often batches were sent in vain since the client began, where that is limited.
    var sentCounts: [Int64: Int] = [:]
    /// Who waits until a batch is no longer pending, by batch.
    var pendingWaiters: [Int64: [Completion]] = [:]

    // The backend.
    var remoteStore: RemoteStore
    var watchStream: (any WatchStream)?
    var writeStream: (any WriteStream)?
    /// Responses of the watch stream that were served since more were asked for.
    var servedResponseCount = 0
    var timers: [EngineTimer: @Sendable () -> Void] = [:]
    var isPumping = false
    /// What the disk has refused, oldest first.
    var refusedWork: [StoreWork] = []
    var recoveryBackoff = Backoff.firestore
    /// The calls of the backend, and the waits for the next one, that have not ended.
    var calls: [ID: ServerCall] = [:]
    var networkObservers: [ID: @Sendable (NetworkState) -> Void] = [:]

    // Other clients, other processes.
    /// The part in a store that several share; nil for one that has it alone.
    var membership: Membership?
    /// What it found when it came.
    let arrival: ClientLook?
    var watch: AnyObject?
    /// The commit that a client which only reads has told its listeners of.
    var followedCommit: UInt64 = 0
    /// How long the next look for a commit waits.
    var followingDelay = Duration.zero

    // Background work and the end.
    var indexWaiters: [Completion] = []
    private var isMaintaining = false
    /// What is being served.
    private var commands: [Command] = []
    private(set) var isTerminated = false

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        scheduler.executor.asUnownedSerialExecutor()
    }

    /// Whose view of the store it shows.
    nonisolated var session: Session { sessionLock.withLock { $0 } }
    nonisolated var localStore: LocalStore { session.localStore }
    nonisolated var runner: QueryRunner { session.runner }

    /// Whether the backend can be reached.
    nonisolated var networkState: NetworkState {
        get { networkStateLock.withLock { $0 } }
        set { networkStateLock.withLock { $0 = newValue } }
    }

    /// At most so many writes go into one commit, so that a flood cannot outgrow a transaction.
    private static let writesPerCommit = 2_000
    /// A list of more requests than this is not kept for those to come.
    private static let keptCommandCount = 1_000

    init(
        _ store: Store, _ session: Session, _ configuration: ClientConfiguration,
        _ inbox: EngineInbox,
        journal: Journal?, ownsStore: Bool
    ) throws(LarderError) {
        self.store = store
        self.ownsStore = ownsStore
        self.inbox = inbox
        sessionLock = Mutex(session)
        scheduler = configuration.scheduler
        remote = configuration.remote
        collectsEagerly = configuration.collectsEagerly
        maxWriteAttempts = configuration.maxWriteAttempts
        callTimeout = OnlineStateTracker.silence(configuration.answerTimeout)
        clock = configuration.clock
        log = configuration.storage.log
        // Without a remote a client is as one that is offline.
        views = ActiveViews(onlineState: configuration.remote == nil ? .offline : .unknown)
        networkStateLock = Mutex(NetworkState(views.onlineState, .notAsked))
        limbo = LimboResolver(limit: configuration.maxConcurrentLimboResolutions)
        remoteStore = RemoteStore(
            databaseID: configuration.databaseID,
            online: OnlineStateTracker(
                timeout: configuration.answerTimeout,
                remembersOutages: configuration.remembersOutages),
            writePipelineDepth: configuration.remote?.writePipelineDepth ?? 0,
            jitter: configuration.scheduler.random)
        maintenance = IndexMaintenance(store: store)
        automaticIndexes = try AutomaticIndexes(store: store)
        if configuration.makesIndexes { try automaticIndexes.enable() }
        guard let journal else {
            arrival = nil
            return
        }
        let sharing = configuration.sharing ?? Sharing()
        remoteStore.disableNetwork(reason: .notPrimary)
        try session.localStore.begin(.renewLease)
        let clock = scheduler
        let look = try journal.join(
            ClientRow(
                id: journal.clientID, time: clock.uptime, usesNetwork: remote != nil,
                isForeground: sharing.isForeground), at: { clock.uptime }, in: store)
        arrival = look
        membership = Membership(
            journal, isForeground: sharing.isForeground, usesNetwork: remote != nil,
            evicts: ownsStore && configuration.evictsWithinBudget, look)
    }

    /// A number that no other request of this engine has.
    nonisolated func newID() -> ID {
        lastID.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Adds a request and wakes the engine for it.
    ///
    /// - Returns: false when the engine has ended.
    nonisolated func add(_ command: Command) -> Bool {
        guard let mustWake = inbox.add(command, write: command.write) else { return false }
        if mustWake { wake() }
        return true
    }

    /// Goes on with what an earlier process left: indexes that are being filled or removed,
    /// writes that the backend has not seen.
    ///
    /// A client that only reads follows the process that writes instead.
    nonisolated func start(_ access: StoreConfiguration.Access) {
        _ = add(
            .perform {
                if access == .readOnly {
                    $0.follow()
                } else {
                    $0.maintain()
                    $0.startSharing()
                    $0.startNetwork()
                }
            })
    }

    nonisolated func log(_ message: String) {
        log?(.warning, message)
    }

    /// Shows the view of another user from now on.
    func replaceSession(_ session: Session) {
        sessionLock.withLock { $0 = session }
    }

    /// Lets go of documents that nothing needs, for a cache that is to hold no others.
    func collect() {
        guard collectsEagerly else { return }
        do throws(LarderError) {
            while try store.evict(toBytes: 0).hasMore {}
        } catch {
            log("cannot collect documents: \(error)")
        }
    }

    private nonisolated func wake() {
        scheduler.run { self.takeTurn() }
    }

    /// Serves, on the executor; as `assumeIsolated` would, which allocates at each call.
    private nonisolated func takeTurn() {
        scheduler.executor.checkIsolated()
        let serve: (isolated Engine) -> Void = { $0.serve() }
        unsafeBitCast(serve, to: ((Engine) -> Void).self)(self)
    }

    /// Serves what has come; requests that this leads to are served next.
    private func serve() {
        inbox.take(&commands)
        serveCommands()
        commands.removeAll(keepingCapacity: commands.count < Self.keptCommandCount)
        if inbox.endTurn() { wake() }
    }

    private func serveCommands() {
        guard !commands.isEmpty else { return }
        remoteStore.now = scheduler.uptime
        var (writes, listeners) = ([QueuedWrite](), [QueuedListener]())
        for command in commands {
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
                receive(event, generation)
                pump()
            case .writeStream(let event, let generation):
                // Several answers of the backend share a commit.
                remoteStore.handle(event, generation: generation)
            }
        }
        commit(&writes)
        addListeners(&listeners)
        pump()
        tellOthers()
        tellQueueObservers()
    }

    // MARK: Background work

    /// Begins bounded steps of background work, between which requests are served.
    func maintain() {
        guard !isMaintaining, !isTerminated else { return }
        isMaintaining = true
        scheduleStep()
    }

    private func scheduleStep() {
        scheduler.run { self.assumeIsolated { $0.step() } }
    }

    private func step() {
        guard !isTerminated else { return }
        let hasMore: Bool
        do throws(LarderError) {
            hasMore = try !maintenance.step().isComplete
        } catch {
            finishMaintenance(.failure(error))
            return
        }
        if hasMore { scheduleStep() } else { finishMaintenance(.success(())) }
    }

    private func finishMaintenance(_ result: Result<Void, LarderError>) {
        isMaintaining = false
        let waiters = indexWaiters
        indexWaiters = []
        for waiter in waiters { waiter(result) }
    }

    /// Calls the closure when no background work is left.
    func waitForIndexes(_ completion: @escaping Completion) {
        guard !isTerminated else {
            completion(.failure(Client.terminated))
            return
        }
        indexWaiters.append(completion)
        maintain()
    }

    // MARK: The end

    func terminate(_ completion: @escaping Completion) {
        isTerminated = true
        for command in inbox.close() {
            switch command {
            case .write(let write):
                release(1)
                write.committed(.failure(Client.terminated))
            case .listen(let listener): listener.deliver(.failure(Client.terminated))
            case .perform(let body): body(self)
            case .watchStream, .writeStream: break
            }
        }
        endNetwork()
        let end = LarderError(.cancelled, "the client was terminated")
        failPendingWaiters(end)
        for acknowledged in acknowledgements.valuesInOrder { acknowledged(.failure(end)) }
        failRefusedWork(end)
        failCalls(end)
        failBundles(end)
        finishMaintenance(.failure(end))
        failWaitingListeners()
        stopSharing()
        acknowledgements = [:]
        deliveries = [:]
        inSyncListeners = [:]
        pendingObservers = ListObservers()
        deadLetterObservers = ListObservers()
        networkObservers = [:]
        watch = nil
        if ownsStore { store.closeWhenIdle(completion) } else { completion(.success(())) }
    }
}
