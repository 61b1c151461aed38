package import HashTreeCollections
package import LarderModel
import LarderQuery
package import LarderTransport

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
            note(online.set(.online, .answered))
            take(response, remoteKeys)
        case .closed(let error):
            let closed = LarderError(.unavailable, "the backend has closed the watch stream")
            failWatchStream(error ?? closed)
        }
    }

    mutating func closeWatchStream() {
        watchStream.stop(&effects)
        aggregator = WatchAggregator(databaseID: databaseID)
    }

    mutating func watchIdleTimerFired() {
        guard watchStream.idleTimerFired() else { return }
        closeWatchStream()
        note(online.becameIdle())
    }

    private mutating func startWatchStream() {
        guard canUseNetwork else { return }
        var opening: [Effect] = []
        let isAttempt = watchStream.start(at: now, jitter: jitter, &opening)
        note(online.streamStarted(isAttempt: isAttempt))
        effects += opening
    }

    private mutating func failWatchStream(_ error: LarderError) {
        watchStream.fail(error, &effects)
        aggregator = WatchAggregator(databaseID: databaseID)
        guard !targets.isEmpty else { return note(online.becameIdle()) }
        note(online.streamFailed(error))
        startWatchStream()
    }

    /// Lets a stream without targets go, after a while.
    mutating func releaseUnusedWatchStream() {
        guard targets.isEmpty, canUseNetwork else { return }
        if watchStream.isOpen {
            watchStream.markIdle(&effects)
        } else {
            note(online.becameIdle())
        }
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
