package import HashTreeCollections
package import LarderModel
import LarderQuery
package import LarderRemote

extension RemoteStore {
    /// Watches a target, unless it is watched already.
    ///
    /// - Parameter remoteKeys: the documents that the backend is known to have in a target.
    package mutating func listen(
        _ target: TargetData, remoteKeys: (Int32) -> TreeSet<DocumentPath>
    ) {
        guard targets[target.id] == nil else { return }
        targets[target.id] = target
        if watchStream.isOpen {
            sendAdd(target, remoteKeys)
        } else {
            startWatchStream()
        }
    }

    /// Watches a target no longer.
    package mutating func unlisten(_ targetID: Int32) {
        guard targets.removeValue(forKey: targetID) != nil else { return }
        if watchStream.isOpen { sendRemove(targetID) }
        awaitNoMore(targetID)
        releaseUnusedWatchStream()
    }

    /// Takes what a watch stream says; what an older one says is dropped.
    ///
    /// - Parameter remoteKeys: the documents that the backend is known to have in a target.
    package mutating func handle(
        _ event: WatchEvent, generation: Int, remoteKeys: (Int32) -> TreeSet<DocumentPath>
    ) {
        guard watchStream.isCurrent(generation) else { return }
        switch event {
        case .opened:
            guard !watchStream.isOpen else { return }
            watchStream.opened(&effects)
            for (_, target) in targets.sorted(by: { $0.key < $1.key }) {
                sendAdd(target, remoteKeys)
            }
            releaseUnusedWatchStream()
        case .response(let response):
            guard watchStream.isOpen else {
                failWatchStream(LarderError(.internal, "a response before the stream was open"))
                return
            }
            watchStream.succeeded()
            noteProgress(response)
            learn(online.answered(at: now, awaitsMore: !awaitedTargets.isEmpty), by: .watch)
            if watchStream.answered() { endWriteOutage() }
            take(response, remoteKeys)
        case .closed(let error):
            let closed = LarderError(.unavailable, "the backend has closed the watch stream")
            failWatchStream(error ?? closed)
        }
    }

    mutating func closeWatchStream() {
        watchStream.stop(&effects)
        forgetStream()
    }

    /// Ends the wait for another attempt to watch, since the backend has answered on the write
    /// stream.
    mutating func endWatchOutage() {
        guard watchStream.outageEnded(isNeeded: !targets.isEmpty, &effects) else { return }
        note(online.streamStarted(), of: .watch)
    }

    mutating func watchIdleTimerFired() {
        guard watchStream.idleTimerFired() else { return }
        closeWatchStream()
        note(online.becameIdle(), of: .watch)
    }

    private mutating func startWatchStream() {
        guard canUseNetwork else { return }
        var opening: [Effect] = []
        let isAttempt = watchStream.start(at: now, jitter: jitter, &opening)
        note(online.streamStarted(isAttempt: isAttempt), of: .watch)
        effects += opening
    }

    private mutating func failWatchStream(_ error: LarderError) {
        watchStream.fail(error, &effects)
        forgetStream()
        guard !targets.isEmpty else { return note(online.becameIdle(), of: .watch) }
        learn(online.streamFailed(error), by: .watch)
        startWatchStream()
    }

    /// What was told on a stream does not count on the next one.
    private mutating func forgetStream() {
        aggregator = WatchAggregator(databaseID: databaseID)
        awaitedTargets = []
    }

    /// Lets a stream without targets go, after a while.
    mutating func releaseUnusedWatchStream() {
        guard targets.isEmpty, canUseNetwork else { return }
        if watchStream.isOpen {
            watchStream.markIdle(&effects)
        } else {
            note(online.becameIdle(), of: .watch)
        }
    }

    // MARK: What is asked and not answered

    /// Notes which targets have everything that there was of them.
    private mutating func noteProgress(_ response: WatchResponse) {
        guard case .targets(let change) = response else { return }
        // No ids mean all targets.
        let ids = change.targetIDs
        switch change.kind {
        case .current, .removed:
            if ids.isEmpty { awaitedTargets = [] } else { awaitedTargets.subtract(ids) }
        case .added, .reset:
            for id in ids where targets.index(forKey: id) != nil { awaitedTargets.insert(id) }
        case .none: break
        }
    }

    private mutating func awaitNoMore(_ targetID: Int32) {
        guard awaitedTargets.remove(targetID) != nil, awaitedTargets.isEmpty else { return }
        note(online.everythingAnswered(), of: .watch)
    }
}

// MARK: - Requests

extension RemoteStore {
    mutating func sendAdd(
        _ target: TargetData, _ remoteKeys: (Int32) -> TreeSet<DocumentPath>
    ) {
        let resumption = target.resumption
        send(
            .add(
                WatchTarget(
                    id: target.id, target: target.target, resumption: resumption,
                    expectedCount: resumption == .none ? nil : remoteKeys(target.id).count,
                    purpose: target.purpose)),
            of: target.id)
        awaitedTargets.insert(target.id)
        note(online.asked(), of: .watch)
    }

    mutating func sendRemove(_ targetID: Int32) {
        send(.remove(targetID: targetID), of: targetID)
    }

    private mutating func send(_ request: WatchRequest, of targetID: Int32) {
        aggregator.notePendingRequest(targetID)
        watchStream.markBusy(&effects)
        effects.append(.sendWatch(request))
    }
}

extension TargetData {
    /// Where the backend goes on from.
    fileprivate var resumption: WatchTarget.Resumption {
        if !resumeToken.isEmpty { return .token(resumeToken) }
        return snapshotVersion.isNone ? .none : .readTime(snapshotVersion)
    }
}
