import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote

/// Work on the store that is repeated when the disk refuses it.
struct StoreWork: Sendable {
    /// Why the network is not used until it is done.
    let cause: OfflineCauses
    /// Whether it only reads, which does not prove that the store can be written.
    var isProbe = false
    /// The batches it takes out of the queue, since the backend has committed them.
    var committedBatches: [Int64] = []
    /// Called if it will not be done.
    var fail: @Sendable (LarderError) -> Void = { _ in }
    let body: @Sendable (isolated Engine) throws(LarderError) -> Void
}

/// The work that the disk has refused, oldest first, and the wait before the next attempt.
struct RefusedWork {
    var queue: [StoreWork] = []
    var backoff = Backoff.firestore

    /// Whether the backend has committed a batch that is still in the queue.
    func hasCommitted(_ batchID: Int64) -> Bool {
        queue.contains { $0.committedBatches.contains(batchID) }
    }

    mutating func fail(_ error: LarderError) {
        for work in queue { work.fail(error) }
        queue = []
    }
}

extension Engine {
    /// Does work on the store, after the refused work that the network waits for.
    ///
    /// Work for other clients alone does not hold anything up: the network goes on, and a response
    /// that was not applied would make the backend answer again.
    func attempt(
        _ cause: OfflineCauses = .storeFailure, committed batchIDs: [Int64] = [],
        orElse fail: @escaping @Sendable (LarderError) -> Void = { _ in },
        _ body: @escaping @Sendable (isolated Engine) throws(LarderError) -> Void
    ) {
        let work = StoreWork(
            cause: cause, committedBatches: batchIDs, fail: fail, body: body)
        guard refusedWork.queue.allSatisfy(\.cause.isEmpty) else {
            refusedWork.queue.append(work)
            return
        }
        do throws(LarderError) {
            try body(self)
        } catch {
            recover(from: error, work)
        }
    }

    /// Stops using the network until the store works again, since responses could not be stored.
    ///
    /// A store that can be read but not written fails again soon: the waits grow until something
    /// was stored.
    func recover(from error: LarderError) {
        recover(
            from: error,
            StoreWork(cause: .storeFailure, isProbe: true) { (engine) throws(LarderError) in
                _ = try engine.localStore.lastRemoteSnapshotVersion()
            })
    }

    /// Repeats work when the store works again, unless it is another client's now.
    func recover(from error: LarderError, _ work: StoreWork) {
        if error.isLeaseLost { return perform(multiClient?.lostLease()) }
        refusedWork.queue.append(work)
        waitForStore(error, work.cause)
        if timers[.recovery] == nil { scheduleRecovery() }
    }

    private func waitForStore(_ error: LarderError, _ cause: OfflineCauses) {
        log("the store does not work: \(error)")
        // The backend does not wait for work that is for other clients alone.
        if !cause.isEmpty { remoteStore.disableNetwork(reason: cause) }
    }

    private func scheduleRecovery() {
        let delay = refusedWork.backoff.nextDelay(
            now: scheduler.uptime, jitter: scheduler.random() - 0.5)
        schedule(.recovery, after: delay)
    }

    /// Repeats the oldest refused work; the next follows without a wait.
    ///
    /// One at a time, so that of several users each has the network in turn.
    func retryRefusedWork() {
        guard let work = refusedWork.queue.first else { return }
        do throws(LarderError) {
            try work.body(self)
        } catch {
            guard error.isLeaseLost else {
                waitForStore(error, work.cause)
                scheduleRecovery()
                return
            }
            perform(multiClient?.lostLease())
        }
        // A deleted store ends the client, with the work.
        guard !isTerminated else { return }
        refusedWork.queue.removeFirst()
        if !work.isProbe { refusedWork.backoff.reset() }
        // All responses of the backend are stored before it sends more.
        if !refusedWork.queue.contains(where: { $0.cause == .storeFailure }) {
            remoteStore.enableNetwork(reason: [.storeFailure, .userChange])
        }
        if !refusedWork.queue.isEmpty { schedule(.recovery, after: .zero) }
    }

    // MARK: Eviction

    /// Evicts documents that nothing needs, for a cache that is to hold no others.
    func collect() {
        guard configuration.collectsEagerly else { return }
        do throws(LarderError) {
            while try store.evict(toBytes: 0).hasMore {}
        } catch {
            log("cannot collect documents: \(error)")
        }
    }

    func collectGarbage(threshold: Int64, _ completion: Completion) {
        completion(
            Result { () throws(LarderError) in
                let size = try store.read { (transaction) throws(LarderError) in
                    try transaction.statistics().totalBytes
                }
                guard size >= threshold else { return }
                while try store.evict(toBytes: 0).hasMore {}
            })
    }

    func evict(
        _ query: Query, _ completion: @Sendable (Result<EvictionSummary, LarderError>) -> Void
    ) {
        do throws(LarderError) {
            let documents = try store.read { (transaction) throws(LarderError) in
                try runner.run(query, in: transaction).documents
            }
            let evicted = try localStore.evict(documents)
            show(evicted.changes, forgetting: evicted.targetIDs)
            completion(
                .success(
                    EvictionSummary(
                        documentCount: evicted.changes.count, freedBytes: evicted.freedBytes,
                        keptCount: evicted.keptCount)))
        } catch {
            completion(.failure(error))
        }
    }

    /// Shows evicted documents to the views, and listens again to their targets.
    func show(_ changes: [LocalChange] = [], forgetting targetIDs: [Int32]) {
        finish(views.apply(changes, targets: forget(targetIDs), refill: refill))
        for id in targetIDs { listenAgain(id) }
    }

    // MARK: Following

    /// Shows the commits of the writing process to listeners from now on.
    func follow() {
        guard let directory = store.directory else { return }
        do throws(LarderError) {
            // The engine holds the watch, which must not hold the engine.
            watch = try scheduler.watch(directory + "/data.mdb") { [weak self] in
                self?.assumeIsolated { $0.catchUp(nextDelay: .milliseconds(1)) }
            }
        } catch {
            log("listeners will not receive changes of other processes: \(error)")
        }
    }

    /// Brings the views up to date with a new commit, and checks again in growing steps until a
    /// second has passed.
    ///
    /// The file is written a moment before its commit can be read, so that the last notification
    /// of a commit may come too early to find it.
    func catchUp(nextDelay: Duration) {
        guard !isTerminated else { return }
        do throws(LarderError) {
            let commit = try store.read { (transaction) throws(LarderError) in
                transaction.commitNumber
            }
            if commit != follower.commit, refresh() { follower.commit = commit }
        } catch {
            log("a listener could not follow another process: \(error)")
        }
        guard nextDelay < .seconds(1) else { return }
        follower.delay = nextDelay * 2
        schedule(.following, after: nextDelay)
    }

    /// - Returns: whether all views are up to date.
    private func refresh() -> Bool {
        var isComplete = true
        let (runner, user) = (session.runner, session.user)
        for query in views.queries {
            guard let view = views.view(of: query) else { continue }
            do throws(LarderError) {
                let changes = try store.read { (transaction) throws(LarderError) in
                    try view.changes(to: transaction, running: runner, of: user)
                }
                apply(changes)
            } catch {
                log("a listener could not follow another process: \(error)")
                isComplete = false
            }
        }
        return isComplete
    }
}

/// The progress of a client that follows the commits of the process that writes.
struct Follower {
    /// The commit that the views show.
    var commit: UInt64 = 0
    /// The wait before the next check for a commit.
    var delay = Duration.zero
}

extension View {
    /// The differences between the documents of the view's query in a store and those of the view.
    func changes<T: ReadableTransaction & ~Copyable>(
        to transaction: borrowing T, running runner: QueryRunner, of user: UserID
    ) throws(LarderError) -> [LocalChange] {
        let found = try runner.run(query, in: transaction).documents
        var changes = found.map {
            LocalChange(
                path: $0.path, before: documents.document(at: $0.path), after: $0)
        }
        let paths = Set(found.map(\.path))
        for old in documents where !paths.contains(old.path) {
            let now = try transaction.document(at: old.path, asSeenBy: user)
            changes.append(LocalChange(path: old.path, before: old, after: now))
        }
        return changes
    }
}
