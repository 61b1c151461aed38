import HashTreeCollections
import LarderModel
import LarderRemote

extension RemoteStore {
    /// Takes a response: it may end targets or complete a snapshot.
    mutating func take(
        _ response: WatchResponse, _ remoteKeys: (Int32) -> TreeSet<DocumentPath>
    ) {
        guard case .targets(let change) = response else {
            return gather(response, remoteKeys)
        }
        if case .removed(let error?) = change.kind {
            return rejectTargets(change.targetIDs, error)
        }
        if change.saysNothing { return }
        gather(response, remoteKeys)
        let isSnapshot = change.targetIDs.isEmpty && !change.readTime.isNone
        if isSnapshot, change.readTime >= lastSnapshotVersion {
            raise(change.readTime, remoteKeys)
        }
    }

    private mutating func gather(
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

    private mutating func raise(
        _ version: SnapshotVersion, _ remoteKeys: (Int32) -> TreeSet<DocumentPath>
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
            askAnew(id, purpose, remoteKeys)
        }
        effects.append(.apply(event))
    }

    /// Asks for all of a target; what was known of it as a whole is known no more.
    private mutating func askAnew(
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

    /// What the aggregator may know of its owner.
    private struct Knowledge: WatchKnowledge {
        let targets: [Int32: TargetData]
        let keys: (Int32) -> TreeSet<DocumentPath>

        func target(_ id: Int32) -> TargetData? { targets[id] }

        func isWatched(_ id: Int32) -> Bool { targets.index(forKey: id) != nil }

        func remoteKeys(of id: Int32) -> TreeSet<DocumentPath> { keys(id) }
    }
}

extension TargetChange {
    /// Whether it is only a sign of life.
    fileprivate var saysNothing: Bool {
        if case .none = kind { resumeToken.isEmpty && readTime.isNone } else { false }
    }
}
