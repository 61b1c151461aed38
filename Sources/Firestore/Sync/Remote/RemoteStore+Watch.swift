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

    /// Stops watching a target.
    package mutating func unlisten(_ targetID: Int32) {
        guard targets.removeValue(forKey: targetID) != nil else { return }
        if watchStream.isOpen { sendRemove(targetID) }
        stopAwaiting(targetID)
        releaseUnusedWatchStream()
    }

    /// An event of the watch stream; events of earlier streams are ignored.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - generation: the number of its stream.
    ///   - precedesSnapshot: whether an event that completes another snapshot of the stream is
    ///     handled next, with none of other kinds before it. Snapshots of limbo resolution, which
    ///     have a document each, are joined then.
    ///   - remoteKeys: the documents that the backend is known to have in a target.
    package mutating func handle(
        _ event: WatchEvent, generation: Int, precedesSnapshot: Bool = false,
        remoteKeys: (Int32) -> TreeSet<DocumentPath>
    ) {
        guard watchStream.isCurrent(generation) else { return }
        switch event {
        case .opened:
            guard !watchStream.isOpen else { return }
            perform(watchStream.opened(), on: .watch)
            for (_, target) in targets.sorted(by: { $0.key < $1.key }) {
                sendAdd(target, remoteKeys)
            }
            releaseUnusedWatchStream()
        case .response(let response):
            guard watchStream.isOpen else {
                failWatchStream(LarderError(.internal, "a response before the stream was open"))
                return
            }
            watchStream.succeeded(isProgress: false)
            updateAwaitedTargets(response)
            recordOutcome(
                online.answered(at: now, awaitsMore: !awaitedTargets.isEmpty), of: .watch)
            let (isFirst, steps) = watchStream.answered()
            perform(steps, on: .watch)
            if isFirst { endWriteOutage() }
            receive(response, precedesSnapshot: precedesSnapshot, remoteKeys)
        case .closed(let error):
            let closed = LarderError(.unavailable, "the backend has closed the watch stream")
            failWatchStream(error ?? closed)
        }
    }

    mutating func closeWatchStream() {
        perform(watchStream.stop(), on: .watch)
        forgetStream()
    }

    /// Ends the backoff of the watch stream after an answer on the write stream.
    mutating func endWatchOutage() {
        let (isAttempt, steps) = watchStream.outageEnded(isNeeded: !targets.isEmpty)
        perform(steps, on: .watch)
        if isAttempt { report(online.streamStarted(), of: .watch) }
    }

    mutating func watchIdleTimerFired() {
        guard watchStream.idleTimerFired() else { return }
        closeWatchStream()
        report(online.becameIdle(), of: .watch)
    }

    private mutating func startWatchStream() {
        guard canUseNetwork else { return }
        let (isAttempt, steps) = watchStream.start(at: now, jitter: jitter)
        report(online.streamStarted(isAttempt: isAttempt), of: .watch)
        perform(steps, on: .watch)
    }

    private mutating func failWatchStream(_ error: LarderError) {
        perform(watchStream.fail(error), on: .watch)
        forgetStream()
        guard !targets.isEmpty else { return report(online.becameIdle(), of: .watch) }
        recordOutcome(online.streamFailed(error), of: .watch)
        startWatchStream()
    }

    /// Drops the state of the stream: a new one starts over.
    private mutating func forgetStream() {
        aggregator = WatchAggregator(databaseID: databaseID)
        awaitedTargets = []
    }

    /// Marks a stream without targets as idle.
    mutating func releaseUnusedWatchStream() {
        guard targets.isEmpty, canUseNetwork else { return }
        if watchStream.isOpen {
            perform(watchStream.markIdle(), on: .watch)
        } else {
            report(online.becameIdle(), of: .watch)
        }
    }

    // MARK: Unanswered requests

    /// Records which targets became current or were requested again.
    private mutating func updateAwaitedTargets(_ response: WatchResponse) {
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

    private mutating func stopAwaiting(_ targetID: Int32) {
        guard awaitedTargets.remove(targetID) != nil, awaitedTargets.isEmpty else { return }
        report(online.everythingAnswered(), of: .watch)
    }
}

// MARK: - Requests

extension RemoteStore {
    mutating func sendAdd(
        _ target: TargetData, _ remoteKeys: (Int32) -> TreeSet<DocumentPath>
    ) {
        let resumption = target.resumption
        var lastToken: [UInt8] = []
        swap(&lastToken, &self.lastToken)
        if !lastToken.starts(with: larderTokenMark) || lastToken == target.resumeToken {
            lastToken = []
        }
        send(
            .add(
                WatchTarget(
                    id: target.id, target: target.target, resumption: resumption,
                    expectedCount: resumption == .none ? nil : remoteKeys(target.id).count,
                    purpose: target.purpose, lastToken: lastToken)),
            of: target.id)
        awaitedTargets.insert(target.id)
        report(online.asked(), of: .watch)
    }

    mutating func sendRemove(_ targetID: Int32) {
        send(.remove(targetID: targetID), of: targetID)
    }

    private mutating func send(_ request: WatchRequest, of targetID: Int32) {
        aggregator.recordPendingRequest(targetID)
        perform(watchStream.markBusy(), on: .watch)
        effects.append(.sendWatch(request))
    }
}

extension TargetData {
    /// The point from which the backend resumes.
    fileprivate var resumption: WatchTarget.Resumption {
        if !resumeToken.isEmpty { return .token(resumeToken) }
        return snapshotVersion.isNone ? .none : .readTime(snapshotVersion)
    }
}

extension RemoteStore {
    /// Handles a response: it may end targets or complete a snapshot.
    mutating func receive(
        _ response: WatchResponse, precedesSnapshot: Bool,
        _ remoteKeys: (Int32) -> TreeSet<DocumentPath>
    ) {
        let change: TargetChange
        switch limited(response) {
        case .targets(let received): change = received
        case .unreadable(let path, let error, let targetIDs, let removedTargetIDs):
            return endTargets(
                of: path, error, in: targetIDs, leaving: removedTargetIDs, remoteKeys)
        case let other: return aggregate(other, remoteKeys)
        }
        if case .removed(let error?) = change.kind {
            return rejectTargets(change.targetIDs, error)
        }
        if change.isKeepalive { return }
        aggregate(response, remoteKeys)
        let isSnapshot = change.targetIDs.isEmpty && !change.readTime.isNone
        guard isSnapshot, change.readTime >= lastSnapshotVersion else { return }
        let isJoined =
            precedesSnapshot
            && withKnowledge(remoteKeys) { aggregator, knowledge in
                aggregator.hasLimboChangesOnly(knowing: knowledge)
            }
        if !isJoined { emitSnapshot(at: change.readTime, remoteKeys) }
    }

    private mutating func aggregate(
        _ response: WatchResponse, _ remoteKeys: (Int32) -> TreeSet<DocumentPath>
    ) {
        let problem = withKnowledge(remoteKeys) { aggregator, knowledge in
            aggregator.handle(response, knowing: knowledge)
        }
        if let problem { effects.append(.warn("a response of the backend: \(problem)")) }
    }

    private mutating func rejectTargets(_ targetIDs: [Int32], _ error: LarderError) {
        for id in targetIDs.isEmpty ? targets.keys.sorted() : targetIDs
        where targets.removeValue(forKey: id) != nil {
            aggregator.remove(id)
            effects.append(.rejectTarget(id, error))
        }
        releaseUnusedWatchStream()
    }

    /// A response, whose document is unreadable if it is too large for the store.
    private func limited(_ response: WatchResponse) -> WatchResponse {
        guard case .document(let reading, let targetIDs, let removedTargetIDs) = response,
            case .found(let record, _) = reading.contents,
            let size = record.sizeBytes(above: maxDocumentBytes)
        else { return response }
        let error = LarderError(
            .resourceExhausted,
            "it has \(size) bytes; this database accepts \(maxDocumentBytes)",
            condition: .tooLarge)
        return .unreadable(
            reading.path, error, targetIDs: targetIDs, removedTargetIDs: removedTargetIDs)
    }

    /// Ends the targets that contain a document which cannot be taken, and no others.
    private mutating func endTargets(
        of path: DocumentPath?, _ error: LarderError, in targetIDs: [Int32],
        leaving removedTargetIDs: [Int32], _ remoteKeys: (Int32) -> TreeSet<DocumentPath>
    ) {
        var ended = targetIDs
        if let path {
            aggregate(.removed(path, removedTargetIDs: removedTargetIDs), remoteKeys)
        } else {
            ended += removedTargetIDs
        }
        ended = withKnowledge(remoteKeys) { aggregator, knowledge in
            ended.filter { aggregator.activeTarget($0, knowledge) != nil }
        }
        guard !ended.isEmpty else { return }
        let name = path.map { "the document '\($0)'" } ?? "a document"
        rejectTargets(
            ended,
            LarderError(
                error.kind, "\(name) cannot be received: \(error.message)",
                condition: error.condition, cause: error.cause))
        // The backend watches them still.
        for id in ended {
            sendRemove(id)
            stopAwaiting(id)
        }
        releaseUnusedWatchStream()
    }

    private mutating func emitSnapshot(
        at version: SnapshotVersion, _ remoteKeys: (Int32) -> TreeSet<DocumentPath>
    ) {
        let event = withKnowledge(remoteKeys) { aggregator, knowledge in
            aggregator.makeEvent(at: version, knowing: knowledge)
        }
        lastSnapshotVersion = version
        for (id, change) in event.targets where !change.resumeToken.isEmpty {
            guard let index = targets.index(forKey: id) else { continue }
            targets.values[index].resumeToken = change.resumeToken
            targets.values[index].snapshotVersion = version
        }
        for (id, purpose) in event.mismatches.sorted(by: { $0.key < $1.key }) {
            requestAgain(id, purpose, remoteKeys)
        }
        effects.append(.apply(event))
    }

    /// Requests a target again from scratch.
    private mutating func requestAgain(
        _ id: Int32, _ purpose: WatchTarget.Purpose,
        _ remoteKeys: (Int32) -> TreeSet<DocumentPath>
    ) {
        guard var target = targets[id] else { return }
        target.resumeToken = []
        target.snapshotVersion = .none
        targets[id] = target
        sendRemove(id)
        target.purpose = purpose
        sendAdd(target, remoteKeys)
    }

    private mutating func withKnowledge<Result>(
        _ remoteKeys: (Int32) -> TreeSet<DocumentPath>,
        _ body: (inout WatchAggregator, Knowledge) -> Result
    ) -> Result {
        withoutActuallyEscaping(remoteKeys) {
            body(&aggregator, Knowledge(targets: targets, keys: $0))
        }
    }

    /// The aggregator's view of its owner.
    private struct Knowledge: WatchKnowledge {
        let targets: [Int32: TargetData]
        let keys: (Int32) -> TreeSet<DocumentPath>

        func target(_ id: Int32) -> TargetData? { targets[id] }

        func isWatched(_ id: Int32) -> Bool { targets.index(forKey: id) != nil }

        func remoteKeys(of id: Int32) -> TreeSet<DocumentPath> { keys(id) }
    }
}

extension TargetChange {
    /// True for a keepalive without content.
    fileprivate var isKeepalive: Bool {
        if case .none = kind { resumeToken.isEmpty && readTime.isNone } else { false }
    }
}
