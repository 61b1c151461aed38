import Dispatch
import LarderCore
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import Synchronization

/// Identifies a stream.
typealias StreamID = UInt64

/// The actor that commits writes and notifies watch streams, serially.
///
/// Commits that are waiting at the same time share a disk flush. Documents are written only here,
/// so data read in a job stays valid until its end.
actor BackendCore {
    nonisolated let store: Store
    /// False for the store of another backend.
    private nonisolated let ownsStore: Bool
    nonisolated let runner: QueryRunner
    nonisolated let rules: Backend.Rules
    nonisolated let clock: @Sendable () -> Timestamp
    nonisolated let transactions: TransactionRegistry
    /// The floors of the versions that are served, for reads on any thread.
    nonisolated let floors: Mutex<Floors>
    /// The recent commits, for reads in the past.
    nonisolated let history: SnapshotHistory
    nonisolated let readCount = Atomic<Int>(0)
    /// The commits that cursors pin, by cursor; ended when the backend closes.
    nonisolated let pins = Mutex(Pins())
    /// Set with the first commit since the backend was opened.
    nonisolated let hasCommitted = AtomicFlag()
    private nonisolated let queue: WorkQueue
    private nonisolated let lastStreamID = Atomic<StreamID>(0)

    let watchRegistry: WatchRegistry
    var writeSessions: [StreamID: WriteSession] = [:]
    var writerStreams = WriterStreams()
    /// The commits that clients may request again.
    private var madeCommits: MadeCommits
    private(set) var isClosed = false
    private var waiting: [CommitRequest] = []
    /// The commits that wait for locks.
    private var blocked: [DocumentLocks.WaitID: CommitRequest] = [:]
    private let builder: RecordBuilder

    /// The maximum number of changes in a group, which limits the size of a store transaction.
    private static let changesPerGroup = 2_000

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        queue.asUnownedSerialExecutor()
    }

    static let closed = LarderError(.unavailable, "the backend is closed")

    /// Opens a backend's store; blocks for the disk.
    init(_ configuration: BackendConfiguration) throws(LarderError) {
        let store = try Store(configuration.storage)
        try store.claim(.backend)
        try store.discardPartialImport()
        let runs = try RunHistory.open(
            store, at: configuration.clock(), makeNumber: configuration.makeIdentity)
        try self.init(configuration, over: store, runs, try MadeCommits(store), ownsStore: true)
    }

    /// A backend that reads the store of another one, which closes it.
    init(_ configuration: BackendConfiguration, readingStoreOf other: BackendCore)
        throws(LarderError)
    {
        let version = try other.store.read { (transaction) throws(LarderError) in
            try transaction.commitVersion()
        }
        // Its tokens are good for itself only.
        let number = configuration.makeIdentity
        var runs = RunHistory(key: TokenKey(number(), number()), nextName: number())
        runs.commit(at: version)
        try self.init(configuration, over: other.store, runs, MadeCommits(), ownsStore: false)
    }

    private init(
        _ configuration: BackendConfiguration, over store: Store, _ runs: RunHistory,
        _ madeCommits: MadeCommits, ownsStore: Bool
    ) throws(LarderError) {
        self.store = store
        self.ownsStore = ownsStore
        floors = Mutex(runs.floors)
        runner = QueryRunner(
            user: .unauthenticated, databaseID: configuration.databaseID, indexes: IndexCatalog())
        rules = configuration.rules
        clock = configuration.clock
        // Starts at half the range, so that increments do not overflow.
        transactions = TransactionRegistry(
            from: configuration.makeIdentity() >> 1, configuration.ledger)
        history = SnapshotHistory(
            limit: configuration.historyCount, maxBytes: configuration.historyBytes)
        queue = WorkQueue(configuration.enqueue)
        builder = try RecordBuilder()
        self.madeCommits = madeCommits
        history.add(runs.version, of: store)
        let reference = CoreReference()
        watchRegistry = WatchRegistry(
            store: store, runner: runner, runs: runs
        ) { time in
            DispatchQueue.global().asyncAfter(deadline: .now() + time) {
                reference.core.withLock(\.value)?.perform { $0.watchRegistry.serveStarved() }
            }
        }
        reference.core.withLock { $0.value = self }
    }

    nonisolated func newStreamID() -> StreamID {
        lastStreamID.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Enqueues work after all previously enqueued work; returns immediately.
    nonisolated func perform(_ body: @escaping @Sendable (isolated BackendCore) -> Void) {
        queue.async { self.assumeIsolated { body($0) } }
    }

    /// Enqueues work and completes with its result, or with `unavailable` if the backend is closed.
    nonisolated func answer<T: Sendable>(
        _ completion: @escaping @Sendable (Result<T, LarderError>) -> Void,
        _ body: @escaping @Sendable (isolated BackendCore) throws(LarderError) -> T
    ) {
        perform { core in
            completion(
                Result { () throws(LarderError) in
                    if core.isClosed { throw Self.closed }
                    return try body(core)
                })
        }
    }

    /// The rules check for the user of a request.
    nonisolated func rulesCheck(_ credentials: Credentials) -> RulesCheck {
        RulesCheck(rules: rules, userID: credentials.userID)
    }

    // MARK: Commits

    /// Enqueues a commit once no transaction holds locks on what it writes; it is then grouped with
    /// other waiting ones.
    func commit(_ request: CommitRequest) {
        guard !isClosed else { return request.completion(.failure(Self.closed)) }
        // The commits of a stream are made in order.
        if let stream = request.stream, stream.isBlocked { return stream.append(request) }
        let wait = transactions.locks.commit(request.lockKeys, by: request.transaction) {
            wait, result in
            self.perform { $0.proceed(wait, result) }
        }
        guard let wait else { return enqueue(request) }
        blocked[wait] = request
        request.stream?.isBlocked = true
    }

    /// Goes on with a commit that has waited for locks.
    private func proceed(_ wait: DocumentLocks.WaitID, _ result: Result<Void, LarderError>) {
        guard let request = blocked.removeValue(forKey: wait) else { return }
        transactions.locks.end(wait)
        switch result {
        case .success: enqueue(request)
        case .failure(let error): request.completion(.failure(error))
        }
        guard let stream = request.stream else { return }
        stream.isBlocked = false
        while !stream.isBlocked, let next = stream.popLater() { commit(next) }
    }

    private func enqueue(_ request: CommitRequest) {
        guard !isClosed else { return request.completion(.failure(Self.closed)) }
        waiting.append(request)
        if waiting.count == 1 { perform { $0.commitWaiting() } }
    }

    private func commitWaiting() {
        var requests = waiting[...]
        waiting = []
        transactions.dropExpired(at: clock())
        while !requests.isEmpty { commitFirst(of: &requests) }
    }

    /// Commits the longest possible group from the front of a list.
    private func commitFirst(of requests: inout ArraySlice<CommitRequest>) {
        var group = CommitGroup(
            store: store, after: watchRegistry.runs, builder: builder,
            database: runner.databaseID)
        var answers: [(request: CommitRequest, result: Result<CommitResult, LarderError>)] = []
        while let request = requests.first, group.changes.count < Self.changesPerGroup {
            // Read queries see only written documents, so the group must be written first.
            if request.hasReadQueries, !group.isEmpty { break }
            // Answered from the store, once the group is written.
            if let name = request.name, group.hasCommit(named: name) { break }
            requests.removeFirst()
            guard request.stream?.isOpen ?? true else { continue }
            let result = Result { () throws(LarderError) in
                if let made = try answerAgain(request) { return made }
                try verifyQueries(of: request, &group.changedReads)
                return try group.add(request, at: clock())
            }
            // Requests after a refused write on its stream are dropped.
            if case .failure = result { request.stream?.end() }
            answers.append((request, result))
        }
        transactions.locks.noteConflicts(group.changedReads)
        let version = group.clock.last
        let written = Result { () throws(LarderError) in
            guard !group.isEmpty else { return }
            try write(replacing: group.replacedBytes, { $0.commit(at: version) }) {
                transaction throws(LarderError) in
                try group.write(to: &transaction)
                try madeCommits.write(group.answers, at: version, to: &transaction)
            }
            madeCommits.insert(group.answers, at: version)
        }
        for (request, result) in answers {
            request.completion(result.flatMap { commit in written.map { commit } })
        }
        if case .success = written, !group.isEmpty { watchRegistry.publish(group.changes) }
    }

    /// Writes a commit, with which the history is extended.
    ///
    /// - Parameter replacing: the approximate size of what the commit replaces in the store.
    private func write(
        replacing bytes: Int64 = CommitGroup.baseBytes, _ extend: (inout RunHistory) -> Void,
        _ body: (inout WriteTransaction) throws(LarderError) -> Void
    ) throws(LarderError) {
        hasCommitted.set()
        let former = watchRegistry.runs
        var runs = former
        extend(&runs)
        func write() throws(LarderError) {
            try store.write { transaction throws(LarderError) in
                try body(&transaction)
                try runs.write(
                    to: &transaction, of: store,
                    isNewRun: runs.runName != former.runName || runs.floors != former.floors)
            }
        }
        do throws(LarderError) {
            try write()
        } catch  where error.condition == .mapFull {
            // Retained commits keep the map from growing.
            history.dropAll()
            try write()
        }
        watchRegistry.runs = runs
        history.add(runs.version, of: store, replacing: bytes)
    }

    /// Serves documents above a new floor if the token of a client proves that it knows a lost
    /// history, whose documents may be newer than those here.
    func raiseFloor(for token: [UInt8]) throws(LarderError) {
        guard ownsStore, let time = watchRegistry.runs.timeOfFloor(for: token, at: clock()) else {
            return
        }
        var next = CommitClock(after: watchRegistry.runs.version)
        let floor = next.advance(to: time)
        let former = floors.withLock { $0 }
        // Before the commit: no read of it may see documents below the floor.
        floors.withLock { $0.append(floor) }
        do throws(LarderError) {
            try write({ $0.raise(at: floor) }) { _ throws(LarderError) in }
        } catch {
            floors.withLock { $0 = former }
            throw error
        }
        watchRegistry.sendAllAgain()
    }

    /// The result of a commit that was made already; nil if it was not.
    private func answerAgain(_ request: CommitRequest) throws(LarderError) -> CommitResult? {
        guard let name = request.name else { return nil }
        madeCommits.remove(name.answered, of: name.client)
        guard madeCommits.contains(name) else { return nil }
        let response = try store.read { (transaction) throws(LarderError) in
            try madeCommits.answer(to: name, in: transaction)
        }
        return response.map { CommitResult(response: $0, documents: []) }
    }

    private func verifyQueries(
        of request: CommitRequest, _ changed: inout [LockKey]
    ) throws(LarderError) {
        guard let reads = request.reads, reads.hasQueries else { return }
        try store.read { (transaction) throws(LarderError) in
            try reads.verifyQueries(in: transaction, runner, &changed)
        }
    }

    // MARK: The end

    /// True if there are no streams and transactions, and no reads and commits in progress.
    var isUnused: Bool {
        readCount.load(ordering: .relaxed) == 0 && watchRegistry.isEmpty && writeSessions.isEmpty
            && waiting.isEmpty && blocked.isEmpty && transactions.isEmpty(at: clock())
    }

    /// True if there are no documents, transactions and write streams, and no reads and commits in
    /// progress.
    var isEmpty: Bool {
        guard readCount.load(ordering: .relaxed) == 0, writeSessions.isEmpty, waiting.isEmpty,
            blocked.isEmpty, transactions.isEmpty(at: clock())
        else { return false }
        let hasDocuments = try? store.read { (transaction) throws(LarderError) in
            try transaction.allCollections().contains { $0.documentCount > 0 }
        }
        return hasDocuments == false
    }

    /// Rejects all further requests, and closes the store when reads have ended.
    func close(_ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void) {
        stop()
        if hasCommitted.isSet, ownsStore {
            // Without it, a restore of the data file alone is found out by tokens only.
            try? store.write { transaction throws(LarderError) in
                try transaction.markPlace(of: store)
            }
        }
        store.closeWhenIdle(completion)
    }

    /// Rejects all further requests, without closing the store.
    func stop() {
        isClosed = true
        transactions.close()
        history.dropAll()
        let pinned = pins.withLock { pins in
            pins.isClosed = true
            return Array(pins.snapshots.values)
        }
        for pin in pinned { pin.end() }
        watchRegistry.endAll(Self.closed)
        for (_, session) in writeSessions.sorted(by: { $0.key < $1.key }) {
            session.close(Self.closed)
        }
        writeSessions = [:]
        let unfinished = waiting + blocked.sorted { $0.key < $1.key }.map(\.value)
        (waiting, blocked) = ([], [:])
        for request in unfinished { request.completion(.failure(Self.closed)) }
    }
}

/// The commits that cursors pin, by cursor.
struct Pins {
    var snapshots: [ObjectIdentifier: PinnedSnapshot] = [:]
    /// True once the backend is closed: nothing may be pinned.
    var isClosed = false
}

/// Refers to a backend that is being initialised.
private final class CoreReference: Sendable {
    struct Weak: Sendable {
        weak var value: BackendCore?
    }

    let core = Mutex(Weak())
}

/// A serial executor on a dispatch queue or on a simulation's scheduler.
final class WorkQueue: SerialExecutor {
    /// Runs work after all previously enqueued work.
    typealias Enqueue = @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

    private let enqueue: Enqueue

    /// Creates an executor with a custom function, or with a dispatch queue for nil.
    init(_ enqueue: Enqueue?) {
        guard let enqueue else {
            let queue = DispatchQueue(label: "larder.backend", qos: .userInitiated)
            self.enqueue = { queue.async(execute: $0) }
            return
        }
        self.enqueue = enqueue
    }

    func async(_ work: @escaping @Sendable () -> Void) {
        enqueue(work)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        enqueue { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    /// No check is needed: isolation is assumed only in closures of ``async(_:)``.
    func checkIsolated() {}
}
