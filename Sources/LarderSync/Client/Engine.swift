import Dispatch
import LarderModel
import LarderQuery
import LarderStorage
import Synchronization

/// The one place where a client's writes are committed and its listeners told, one after the
/// other.
///
/// Requests come through the ``Inbox``; everything that is there when the engine looks is served
/// in order, and writes next to each other share a commit.
actor Engine {
    typealias ID = UInt64
    typealias Completion = @Sendable (Result<Void, LarderError>) -> Void

    nonisolated let localStore: LocalStore
    nonisolated let executor = QueueExecutor(label: "larder.engine")
    /// Where queries of new listeners run, beside the engine's commits.
    nonisolated let readers = DispatchQueue(
        label: "larder.readers", qos: .userInitiated, attributes: .concurrent)
    nonisolated let runner: QueryRunner
    nonisolated let automaticIndexes: AutomaticIndexes
    nonisolated let collectsEagerly: Bool
    nonisolated let inbox: Inbox
    private nonisolated let log: (@Sendable (StoreConfiguration.LogLevel, String) -> Void)?
    private nonisolated let lastID = Atomic<ID>(0)

    var views: ActiveViews
    var deliveries: [ID: @Sendable (Result<ViewSnapshot, LarderError>) -> Void] = [:]
    var inSyncListeners: [ID: @Sendable () -> Void] = [:]
    var pendingObservers: [ID: @Sendable (Result<[PendingBatch], LarderError>) -> Void] = [:]
    /// Whom to tell when the backend has answered, by batch.
    var acknowledgements: [Int64: Completion] = [:]
    /// Who waits until a batch is no longer pending, by batch.
    var pendingWaiters: [Int64: [Completion]] = [:]
    nonisolated let maintenance: IndexMaintenance
    var indexWaiters: [Completion] = []
    /// Views whose first query is running.
    var loadingCount = 0
    var loadingWaiters: [@Sendable () -> Void] = []
    var watch: FileWatch?
    /// The commit that a client which only reads has told its listeners of.
    var followedCommit: UInt64 = 0
    /// How often another process was heard writing.
    var noticeCount = 0
    private var isMaintaining = false
    private(set) var isTerminated = false

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// At most so many writes go into one commit, so that a flood cannot outgrow a transaction.
    private static let writesPerCommit = 2_000

    init(
        _ localStore: LocalStore, _ configuration: ClientConfiguration, _ runner: QueryRunner,
        _ inbox: Inbox
    ) throws(LarderError) {
        self.localStore = localStore
        self.runner = runner
        self.inbox = inbox
        collectsEagerly = configuration.collectsEagerly
        log = configuration.storage.log
        views = ActiveViews()
        maintenance = IndexMaintenance(store: localStore.store)
        automaticIndexes = try AutomaticIndexes(store: localStore.store)
        if configuration.makesIndexes { try automaticIndexes.enable() }
    }

    /// A number that no other request of this engine has.
    nonisolated func newID() -> ID {
        lastID.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Adds a request and wakes the engine for it.
    ///
    /// - Returns: false when the engine has ended.
    nonisolated func add(_ command: Inbox.Command) -> Bool {
        guard let mustWake = inbox.add(command) else { return false }
        if mustWake { wake() }
        return true
    }

    /// Goes on with what an earlier process left: indexes that are being filled or removed.
    ///
    /// A client that only reads follows the process that writes instead.
    nonisolated func start(_ access: StoreConfiguration.Access) {
        _ = add(.perform { access == .readOnly ? $0.follow() : $0.maintain() })
    }

    nonisolated func log(_ message: String) {
        log?(.warning, message)
    }

    /// Lets go of documents that nothing needs, for a cache that is to hold no others.
    func collect() {
        guard collectsEagerly else { return }
        do throws(LarderError) {
            while try localStore.store.evict(toBytes: 0).hasMore {}
        } catch {
            log("cannot collect documents: \(error)")
        }
    }

    private nonisolated func wake() {
        executor.queue.async { self.assumeIsolated { $0.serve() } }
    }

    private func serve() {
        let commands = inbox.take()
        guard !commands.isEmpty else { return }
        var writes: [QueuedWrite] = []
        for command in commands {
            switch command {
            case .write(let write):
                writes.append(write)
                if writes.count == Self.writesPerCommit { commit(&writes) }
            case .perform(let body):
                commit(&writes)
                body(self)
            }
        }
        commit(&writes)
        wake()
    }

    // MARK: Background work

    /// Begins bounded steps of background work, between which requests are served.
    func maintain() {
        guard !isMaintaining, !isTerminated else { return }
        isMaintaining = true
        scheduleStep()
    }

    private func scheduleStep() {
        executor.queue.async { self.assumeIsolated { $0.step() } }
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
            case .perform(let body): body(self)
            }
        }
        let ended = Result<Void, LarderError>.failure(
            LarderError(.cancelled, "the client was terminated"))
        for waiter in pendingWaiters.values.joined() { waiter(ended) }
        for acknowledged in acknowledgements.values { acknowledged(ended) }
        finishMaintenance(ended)
        failLoading()
        pendingWaiters = [:]
        acknowledgements = [:]
        deliveries = [:]
        inSyncListeners = [:]
        pendingObservers = [:]
        watch = nil
        localStore.store.closeWhenIdle(completion)
    }
}
