import LarderModel
import LarderRemote

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
}
