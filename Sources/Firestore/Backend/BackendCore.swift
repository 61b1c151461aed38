import Dispatch
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import LarderStorage
import Synchronization

/// The number of a stream.
typealias StreamID = UInt64

/// The one place where a backend's commits are made and those who watch are told, one after the
/// other.
///
/// Commits that wait when one is made share its flush of the disk. Nobody else writes documents,
/// so that what is read here stays so until the work at hand is done.
actor BackendCore {
    nonisolated let store: Store
    nonisolated let runner: QueryRunner
    nonisolated let rules: Backend.Rules
    nonisolated let clock: @Sendable () -> Timestamp
    nonisolated let transactions: TransactionRegistry
    /// The last commits, for reads of the past.
    nonisolated let history: SnapshotHistory
    /// Reads that are under way.
    nonisolated let readCount = Atomic<Int>(0)
    private nonisolated let queue: WorkQueue
    private nonisolated let lastStreamID = Atomic<StreamID>(0)

    /// The streams that watch.
    let watchRegistry: WatchRegistry
    /// The streams that take writes.
    var writeSessions: [StreamID: WriteSession] = [:]
    private var commitClock: CommitClock
    private(set) var isClosed = false
    private var waiting: [CommitRequest] = []
    private let builder: RecordBuilder

    /// Where a group of commits ends, so that a flood cannot outgrow a transaction.
    private static let changesPerGroup = 2_000

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        queue.asUnownedSerialExecutor()
    }

    static let closed = LarderError(.unavailable, "the backend is closed")

    /// Opens a backend's store; blocks for the disk.
    init(_ configuration: BackendConfiguration) throws(LarderError) {
        store = try Store(configuration.storage)
        runner = QueryRunner(
            user: .unauthenticated, databaseID: configuration.databaseID, indexes: IndexCatalog())
        rules = configuration.rules
        clock = configuration.clock
        // Half of all numbers, so that counting on does not come to the end.
        transactions = TransactionRegistry(from: configuration.makeIdentity() >> 1)
        history = SnapshotHistory(limit: configuration.historyCount)
        queue = WorkQueue(configuration.enqueue)
        builder = try RecordBuilder()
        let now = configuration.clock()
        // A snapshot of nothing has a version, too, and a clock that was set back does no harm.
        let (clock, identity) = try store.write { transaction throws(LarderError) in
            var clock = CommitClock(after: try transaction.commitVersion())
            try transaction.putCommitVersion(clock.advance(to: now))
            if let identity = try transaction.backendIdentity() { return (clock, identity) }
            let identity = configuration.makeIdentity()
            try transaction.putBackendIdentity(identity)
            return (clock, identity)
        }
        commitClock = clock
        history.add(clock.last, of: store)
        watchRegistry = WatchRegistry(
            store: store, runner: runner, identity: identity, version: clock.last)
    }

    /// A number that no other stream of this backend has.
    nonisolated func newStreamID() -> StreamID {
        lastStreamID.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Does something behind all that was asked for before; returns at once.
    nonisolated func perform(_ body: @escaping @Sendable (isolated BackendCore) -> Void) {
        queue.async { self.assumeIsolated { body($0) } }
    }

    /// Does something and tells what came of it: `unavailable` once the backend is closed.
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

    /// Asks the rules in the name of a user.
    nonisolated func rulesCheck(_ credentials: Credentials) -> RulesCheck {
        RulesCheck(rules: rules, userID: credentials.userID)
    }

    // MARK: Commits

    /// Makes a commit together with those that wait.
    func commit(_ request: CommitRequest) {
        guard !isClosed else {
            request.completion(.failure(Self.closed))
            return
        }
        waiting.append(request)
        if waiting.count == 1 { perform { $0.commitWaiting() } }
    }

    private func commitWaiting() {
        var requests = waiting[...]
        waiting = []
        transactions.dropExpired(at: clock())
        while !requests.isEmpty { commitFirst(of: &requests) }
    }

    /// Makes commits from the beginning of a list, as many as can go together.
    private func commitFirst(of requests: inout ArraySlice<CommitRequest>) {
        var group = CommitGroup(
            store: store, clock: commitClock, builder: builder, database: runner.databaseID)
        var answers: [(request: CommitRequest, result: Result<CommitResult, LarderError>)] = []
        while let request = requests.first, group.changes.count < Self.changesPerGroup {
            // Queries see what is in the store.
            if request.hasReadQueries, !group.isEmpty { break }
            requests.removeFirst()
            guard request.stream?.isOpen ?? true else { continue }
            let result = Result { () throws(LarderError) in
                try verifyQueries(of: request)
                return try group.add(request, at: clock())
            }
            // What follows on a stream with a refused write is not made.
            if case .failure = result { request.stream?.end() }
            answers.append((request, result))
        }
        let written = Result { () throws(LarderError) in
            guard !group.isEmpty else { return }
            try store.write { transaction throws(LarderError) in
                try group.write(to: &transaction)
            }
        }
        if case .success = written, !group.isEmpty {
            commitClock = group.clock
            history.add(commitClock.last, of: store)
        }
        for (request, result) in answers {
            request.completion(result.flatMap { commit in written.map { commit } })
        }
        if case .success = written, !group.isEmpty {
            watchRegistry.publish(group.changes, commitClock.last)
        }
    }

    private func verifyQueries(of request: CommitRequest) throws(LarderError) {
        guard let reads = request.reads, reads.hasQueries else { return }
        try store.read { (transaction) throws(LarderError) in
            try reads.verifyQueries(in: transaction, runner)
        }
    }

    // MARK: The end

    /// Whether there are no streams and no transactions, and no reads and commits under way.
    var isUnused: Bool {
        readCount.load(ordering: .relaxed) == 0 && watchRegistry.isEmpty && writeSessions.isEmpty
            && waiting.isEmpty && transactions.isEmpty(at: clock())
    }

    /// Refuses everything from now on, and closes the store once reads have ended.
    func close(_ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void) {
        isClosed = true
        transactions.close()
        history.dropAll()
        watchRegistry.endAll(Self.closed)
        for (_, session) in writeSessions.sorted(by: { $0.key < $1.key }) {
            session.close(Self.closed)
        }
        writeSessions = [:]
        for request in waiting { request.completion(.failure(Self.closed)) }
        waiting = []
        store.closeWhenIdle(completion)
    }
}

/// Runs a backend's work piece by piece, in order, on one thread at a time: on a dispatch queue,
/// or wherever a simulation wants it.
final class WorkQueue: SerialExecutor {
    /// Takes a piece of work, to run it behind all that was taken before.
    typealias Enqueue = @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

    private let enqueue: Enqueue

    /// A queue of its own, or one that is given.
    init(_ enqueue: Enqueue?) {
        guard let enqueue else {
            let queue = DispatchQueue(label: "larder.backend", qos: .userInitiated)
            self.enqueue = { queue.async(execute: $0) }
            return
        }
        self.enqueue = enqueue
    }

    /// Runs a closure behind all that came before.
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

    /// Nothing is to be checked: isolation is assumed in closures of ``async(_:)`` alone.
    func checkIsolated() {}
}
