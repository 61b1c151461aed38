import LarderModel
import LarderRemote

/// Work on the store that is done again when the disk refuses it.
struct StoreWork: Sendable {
    /// Why the network is not used until it is done.
    let cause: OfflineCauses
    /// Whether it only reads, which tells nothing of whether the store can be written.
    var isProbe = false
    /// Batches that it takes out of the queue, since the backend has committed them.
    var committedBatches: [Int64] = []
    /// Tells who waits for it that it will not be done.
    var fail: @Sendable (LarderError) -> Void = { _ in }
    /// The work itself.
    let body: @Sendable (isolated Engine) throws(LarderError) -> Void
}

extension Engine {
    /// Does work on the store, after all that the disk has refused so far and the network waits
    /// for.
    ///
    /// Work for other clients alone keeps nothing back: the network goes on, and an answer that
    /// was not taken in would let the backend be asked again.
    func attempt(
        _ cause: OfflineCauses = .storeFailure, committed batchIDs: [Int64] = [],
        orElse fail: @escaping @Sendable (LarderError) -> Void = { _ in },
        _ body: @escaping @Sendable (isolated Engine) throws(LarderError) -> Void
    ) {
        let work = StoreWork(
            cause: cause, committedBatches: batchIDs, fail: fail, body: body)
        guard refusedWork.allSatisfy(\.cause.isEmpty) else {
            refusedWork.append(work)
            return
        }
        do throws(LarderError) {
            try body(self)
        } catch {
            recover(from: error, work)
        }
    }

    /// Stops using the network until the store works again, since what the backend says could
    /// not be kept.
    ///
    /// Where the store can be read and not written it fails again soon: the waits grow until
    /// something was kept.
    func recover(from error: LarderError) {
        recover(
            from: error,
            StoreWork(cause: .storeFailure, isProbe: true) { (engine) throws(LarderError) in
                _ = try engine.localStore.lastRemoteSnapshotVersion()
            })
    }

    /// Does work again when the store works again, unless it is another client's now.
    func recover(from error: LarderError, _ work: StoreWork) {
        if error.isLeaseLost { return loseLease() }
        refusedWork.append(work)
        waitForStore(error, work.cause)
        if timers[.recovery] == nil { scheduleRecovery() }
    }

    private func waitForStore(_ error: LarderError, _ cause: OfflineCauses) {
        log("the store does not work: \(error)")
        // Work for other clients alone is no reason to let the backend wait.
        if !cause.isEmpty { remoteStore.disableNetwork(reason: cause) }
    }

    private func scheduleRecovery() {
        let delay = recoveryBackoff.nextDelay(
            now: scheduler.uptime, jitter: scheduler.random() - 0.5)
        schedule(.recovery, after: delay)
    }

    /// Does the oldest work that the disk has refused; the next follows without a wait.
    ///
    /// One at a time, so that of several users each has the network in turn.
    func retryRefusedWork() {
        guard let work = refusedWork.first else { return }
        do throws(LarderError) {
            try work.body(self)
        } catch {
            guard error.isLeaseLost else {
                waitForStore(error, work.cause)
                scheduleRecovery()
                return
            }
            loseLease()
        }
        // A store that is deleted ends the client, and what it was to do.
        guard !isTerminated else { return }
        refusedWork.removeFirst()
        if !work.isProbe { recoveryBackoff.reset() }
        // What the backend has said is all taken in before it says more.
        if !refusedWork.contains(where: { $0.cause == .storeFailure }) {
            remoteStore.enableNetwork(reason: [.storeFailure, .userChange])
        }
        if !refusedWork.isEmpty { schedule(.recovery, after: .zero) }
    }

    /// Gives up on what the disk has refused.
    func failRefusedWork(_ error: LarderError) {
        for work in refusedWork { work.fail(error) }
        refusedWork = []
    }
}
