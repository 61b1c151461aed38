import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRuntime
import LarderStorage
import Synchronization

/// A request to an engine.
enum DatabaseCommand: Sendable {
    /// A request of the application, or the end of a wait.
    case perform(@Sendable (isolated DatabaseEngine) -> Void)
    /// An event of the connection of an attempt.
    case connection(ConnectionEvent, attempt: Int)
}

/// The engine of one database: feeds the machines and performs their actions.
///
/// Requests come through the inbox. A turn processes all queued requests: they are
/// applied to the sync tree in order, what they change on disk becomes one commit, then events and
/// completions are delivered and requests are sent. What the engine decides depends on the order
/// of requests and events alone: time, random numbers, disk and network come through its
/// scheduler, store and remote.
actor DatabaseEngine {
    typealias ID = UInt64

    nonisolated let scheduler: any EngineScheduler
    nonisolated let inbox = Inbox<DatabaseCommand, Never>()
    nonisolated let configuration: DatabaseClientConfiguration
    private nonisolated let networkStateLock: Mutex<NetworkState>
    private nonisolated let offsetMilliseconds = Atomic<Int64>(0)
    private nonisolated let lastID = Atomic<ID>(0)

    // Listens and writes.
    let disk: DatabaseDisk
    var tree: SyncTree
    var info = InfoTree()
    var listeners: [ListenerID: @Sendable (TreeEvent) -> Void] = [:]
    var gets: [ID: PendingGet] = [:]
    /// The gets that were not sent on this connection, in order; some may have ended.
    var unsentGets: [ID] = []
    /// The gets that were sent on this connection, by the number of the request.
    var sentGets: [Int: ID] = [:]

    // Requests to send.
    var outbox = RequestOutbox()
    /// The origins of the outbox's requests.
    var outboxWork: [RequestOutbox.ID: OutboxWork] = [:]
    var writes: [WriteID: OutgoingWrite] = [:]
    /// The names of writes that the server can forget, which the next write tells it.
    ///
    /// They are removed from the disk before that is sent.
    var answeredWrites: [String] = []
    /// True once a write on the present connection has carried ``DatabaseDisk/formerSessions``.
    var hasNamedFormer = false
    /// Identifies the names that the server of the last connection keeps; nil for one without.
    var namesID: String?
    var transactions = Transactions()
    var transactionWork: [TransactionID: TransactionWork] = [:]
    /// The updates for transactions of an earlier run, by their location.
    var resumedUpdates: [TreePath: TransactionUpdate] = [:]
    /// True once transactions of an earlier run have waited long enough for their updates.
    var hasHandlerWaitEnded = false
    var disconnects = OnDisconnectTree()
    var pendingObservers = ListObservers<QueuedWrite>()
    var deadObservers = ListObservers<DeadWrite>()

    // Other clients of the store.
    var foreign = ForeignWrites()
    /// The listens of other clients that this one keeps the cache for, by their numbers.
    var foreignListens: [ClientNumber: [Int64: QuerySpec]] = [:]
    /// The results of other clients' writes that are to be stored in the cache.
    var acceptedWrites: [WriteID: AcceptedWrite] = [:]
    var clientSignal: AnyObject?

    // Cache rules.
    var cacheRules = TreeCacheRules()
    /// The local-only locations; not nil while rules have such.
    var local: LocalTree?
    /// True if queries that are too old are to be evicted at the end of the turn.
    var mustCheckAges = false

    // The connection.
    var machine: ConnectionMachine
    var connection: (any RealtimeConnection)?
    var serverListens = ServerListens()
    var lastRequestNumber = 0
    /// The authentication that is not answered.
    var authentication: Authentication?
    var roundTrip = RoundTrip.unmeasured
    private var timers: [DatabaseTimer: RunningTimer] = [:]
    var networkObservers = Observers<NetworkState>()

    // The turn.
    /// The deliveries after the commit of the turn, in order.
    var deliveries: [Delivery] = []
    private var commands: [DatabaseCommand] = []
    var recoveryBackoff = Backoff(initial: .seconds(1), factor: 1.5, longest: .seconds(60))
    private(set) var isTerminated = false

    private struct RunningTimer {
        let id: ID
        let cancel: @Sendable () -> Void
    }

    /// Something to deliver after a commit.
    enum Delivery {
        case event(TreeEvent)
        case call(@Sendable () -> Void)
        /// A write was applied, if the commit succeeds.
        case made(WriteID, Completion<WriteID?>)
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        scheduler.executor.asUnownedSerialExecutor()
    }

    /// Reachability of the server.
    nonisolated var networkState: NetworkState {
        get { networkStateLock.withLock { $0 } }
        set { networkStateLock.withLock { $0 = newValue } }
    }

    /// The estimated difference of the server's clock from the local one.
    nonisolated var serverTimeOffset: Duration {
        get { .milliseconds(offsetMilliseconds.load(ordering: .relaxed)) }
        set { offsetMilliseconds.store(newValue.wholeMilliseconds, ordering: .relaxed) }
    }

    /// The maximum number of requests that share a commit.
    private static let commandsPerCommit = 2_000
    /// A list of more requests than this is not kept for those to come.
    private static let keptCommandCount = 1_000

    init(
        _ configuration: DatabaseClientConfiguration, store: Store?
    ) throws(LarderError) {
        disk = try DatabaseDisk(configuration, store: store)
        self.configuration = disk.configuration
        scheduler = configuration.scheduler
        networkStateLock = Mutex(
            NetworkState(configuration.remote == nil ? .offline : .unknown, .notAsked))
        machine = ConnectionMachine(lastSession: disk.lastSession)
        tree = try disk.makeTree(now: configuration.clock().milliseconds)
        local = try disk.firstLocalTree()
        if disk.isLocal { cacheRules = TreeCacheRules().ofLocalDatabase }
    }

    /// A number that no other request of this engine has.
    nonisolated func newID() -> ID {
        lastID.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Adds a request and wakes the engine for it.
    ///
    /// - Returns: false when the engine has ended.
    nonisolated func add(_ command: DatabaseCommand) -> Bool {
        guard let mustWake = inbox.add(command) else { return false }
        if mustWake { wake() }
        return true
    }

    /// Restores what an earlier process left, and connects.
    nonisolated func start() {
        _ = add(
            .perform {
                $0.setInfo("connected", false)
                $0.setInfo("authenticated", false)
                if $0.disk.isLocal { $0.setInfo("serverTimeOffset", Node(.integer(0))) }
                $0.restoreWrites()
                $0.startSharing()
                $0.startCacheRules()
                if $0.configuration.remote == nil { return }
                if $0.configuration.startsOffline { $0.goOffline() }
                $0.performAll($0.machine.start(at: $0.scheduler.uptime))
            })
    }

    nonisolated func log(_ message: String) {
        configuration.log(message)
    }

    private nonisolated func wake() {
        scheduler.run { self.takeTurn() }
    }

    /// Serves, on the executor; as `assumeIsolated` would, which allocates at each call.
    private nonisolated func takeTurn() {
        scheduler.executor.checkIsolated()
        let serve: (isolated DatabaseEngine) -> Void = { $0.serve() }
        unsafeBitCast(serve, to: ((DatabaseEngine) -> Void).self)(self)
    }

    /// Serves the waiting requests; requests that this leads to are served next.
    private func serve() {
        inbox.take(&commands)
        disk.time = configuration.clock()
        tree.now = disk.time.milliseconds
        local?.now = tree.now
        transactions.time = serverMilliseconds
        catchUp()
        for (index, command) in commands.enumerated() {
            if index > 0, index % Self.commandsPerCommit == 0 { endTurn() }
            switch command {
            case .perform(let body): body(self)
            case .connection(let event, let attempt): receive(event, attempt)
            }
        }
        endTurn()
        commands.removeAll(keepingCapacity: commands.count < Self.keptCommandCount)
        if inbox.endTurn() { wake() }
    }

    // MARK: Time

    /// The estimated time of the server, in milliseconds since the Unix epoch.
    var serverMilliseconds: Int64 {
        configuration.clock().milliseconds + serverTimeOffset.wholeMilliseconds
    }

    /// Sets a timer; one of that name that runs is replaced.
    func setTimer(
        _ timer: DatabaseTimer, after delay: Duration,
        _ body: @escaping @Sendable (isolated DatabaseEngine) -> Void
    ) {
        cancelTimer(timer)
        let id = newID()
        let cancel = scheduler.schedule(timer, after: delay) { [weak self] in
            // Through the inbox, so that what it leads to is part of a turn.
            _ = self?.add(
                .perform { engine in
                    guard engine.timers[timer]?.id == id else { return }
                    engine.timers[timer] = nil
                    body(engine)
                })
        }
        timers[timer] = RunningTimer(id: id, cancel: cancel)
    }

    /// Cancels a timer, if it runs.
    func cancelTimer(_ timer: DatabaseTimer) {
        timers.removeValue(forKey: timer)?.cancel()
    }

    // MARK: The end

    func terminate(_ completion: @escaping Completion<Void>) {
        guard !isTerminated else { return afterEnd(completion) }
        endTurn()
        isTerminated = true
        for command in inbox.close() {
            if case .perform(let body) = command { body(self) }
        }
        for timer in timers.values { timer.cancel() }
        timers = [:]
        connection?.close()
        connection = nil
        stopSharing()
        let end = LarderError(realtime: .cancelled, "the database was closed")
        for get in gets.valuesInOrder { get.completion(.failure(end)) }
        for write in writes.valuesInOrder { write.acknowledged(.failure(end)) }
        for work in outboxWork.valuesInOrder { work.fail(end) }
        for work in transactionWork.valuesInOrder { work.completion?(.failure(end)) }
        listeners = [:]
        gets = [:]
        writes = [:]
        outboxWork = [:]
        transactionWork = [:]
        networkObservers = Observers()
        pendingObservers = ListObservers()
        deadObservers = ListObservers()
        local?.close()
        local = nil
        disk.close(completion)
    }

    /// Calls the closure when the end that has begun is over, and the store closed.
    nonisolated func afterEnd(_ completion: @escaping Completion<Void>) {
        scheduler.run { self.assumeIsolated { $0.disk.close(completion) } }
    }
}
