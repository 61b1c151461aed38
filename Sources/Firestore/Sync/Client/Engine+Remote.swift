import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote

extension Engine {
    /// Responses of the watch stream that may be on their way at a time.
    private static let watchDemand = 1_000

    /// Carries out what the network side asks for, until it asks for nothing.
    func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while true {
            let effects = remoteStore.takeEffects()
            if effects.isEmpty { return }
            var acknowledged: [BatchAcknowledgement] = []
            for effect in effects {
                if case .acknowledge(let acknowledgement) = effect {
                    acknowledged.append(acknowledgement)
                    continue
                }
                acknowledge(&acknowledged)
                perform(effect)
            }
            acknowledge(&acknowledged)
        }
    }

    private func perform(_ effect: RemoteStore.Effect) {
        switch effect {
        case .openWatchStream(let generation): openWatchStream(generation)
        case .closeWatchStream:
            watchStream?.close()
            watchStream = nil
        case .sendWatch(let request):
            noteAsked(request)
            watchStream?.send(request)
        case .openWriteStream(let generation): openWriteStream(generation)
        case .closeWriteStream:
            writeStream?.close()
            writeStream = nil
        case .sendWrite(let request): writeStream?.send(request)
        case .schedule(let timer, let delay): schedule(timer, after: delay)
        case .cancel(let timer): timers.removeValue(forKey: timer)?()
        case .invalidateToken: remote?.invalidateToken()
        case .onlineState(let state): apply(own: state)
        case .apply(let event): apply(event)
        case .rejectTarget(let id, let error): reject(id, error)
        case .acknowledge(let acknowledgement):
            var acknowledged = [acknowledgement]
            acknowledge(&acknowledged)
        case .reject(let batchID, let error): reject(batchID: batchID, error)
        case .attemptFailed(let batchID, let error, let wasSent):
            noteAttempt(batchID, error, wasSent: wasSent)
        case .wantsWrites(let batchID, let count): sendWrites(after: batchID, count)
        case .warn(let message): log(message)
        }
    }

    private func openWatchStream(_ generation: Int) {
        watchStream?.close()
        servedResponseCount = 0
        watchStream = remote?.openWatchStream(as: credentials) { [weak self] event in
            _ = self?.add(.watchStream(event, generation: generation))
        }
        watchStream?.demand(Self.watchDemand)
    }

    /// Takes what a watch stream says; what an older one says is dropped.
    func receive(_ event: WatchEvent, _ generation: Int) {
        guard remoteStore.watchStream.isCurrent(generation) else { return }
        do throws(LarderError) {
            if event.isSnapshot {
                remoteStore.lastSnapshotVersion = try localStore.lastRemoteSnapshotVersion()
            }
            remoteStore.handle(event, generation: generation) { [self] in remoteKeys(of: $0) }
        } catch {
            recover(from: error)
        }
        guard case .response = event else { return }
        servedResponseCount += 1
        if servedResponseCount == Self.watchDemand / 2 {
            watchStream?.demand(servedResponseCount)
            servedResponseCount = 0
        }
    }

    private func openWriteStream(_ generation: Int) {
        writeStream?.close()
        writeStream = remote?.openWriteStream(as: credentials) { [weak self] event in
            _ = self?.add(.writeStream(event, generation: generation))
        }
    }

    var credentials: Credentials { Credentials(userID: session.user.string) }

    /// Wakes the engine once some time has passed; replaces the timer that is set.
    func schedule(_ timer: EngineTimer, after delay: Duration) {
        timers.removeValue(forKey: timer)?()
        timers[timer] = scheduler.schedule(timer, after: delay) { [weak self] in
            self?.assumeIsolated { $0.fire(timer) }
        }
    }

    private func fire(_ timer: EngineTimer) {
        guard timers.removeValue(forKey: timer) != nil, !isTerminated else { return }
        remoteStore.now = scheduler.uptime
        switch timer {
        case .recovery: retryRefusedWork()
        case .following: catchUp(nextDelay: followingDelay)
        case .lease: renewLease()
        default: remoteStore.fire(timer)
        }
        pump()
        tellOthers()
        tellQueueObservers()
    }
}

extension WatchEvent {
    /// Whether it ends a snapshot of all targets.
    fileprivate var isSnapshot: Bool {
        guard case .response(.targets(let change)) = self else { return false }
        return change.targetIDs.isEmpty && !change.readTime.isNone
    }
}
