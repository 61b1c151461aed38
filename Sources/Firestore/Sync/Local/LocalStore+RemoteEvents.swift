package import LarderModel
import LarderRemote
import LarderStorage
import OrderedCollections

/// What a remote event has done to the local store.
package struct AppliedRemoteEvent: Sendable {
    /// Documents that changed in the cache, as the user sees them.
    package let changes: [LocalViewChange]
    /// All targets that were given, with what the event says of them.
    package let targets: [Int32: TargetData]
}

extension LocalStore {
    /// Takes in what a backend has told; one commit.
    ///
    /// - Parameters:
    ///   - event: what it told.
    ///   - targets: what is known of every active target. What the event says of others is passed
    ///     over. Of one that is no longer stored nothing is stored again.
    package func apply(_ event: RemoteEvent, to targets: [Int32: TargetData])
        throws(LarderError) -> AppliedRemoteEvent
    {
        try begin(.applyRemoteEvent)
        let builder = try RecordBuilder()
        for path in event.resolvedLimboDocuments { try store.touch(path) }
        return try commit(forAll: true) { (transaction, news) throws(LarderError) in
            var (told, written) = (targets, [TargetData]())
            for (id, change) in event.targets where event.mismatches[id] == nil {
                guard let index = told.index(forKey: id) else { continue }
                if told.values[index].mayBeWorthStoring(with: change, in: event) {
                    written.append(told.values[index])
                } else {
                    told.values[index].hear(change, in: event)
                }
            }
            written += event.mismatches.keys.compactMap { targets[$0] }
            // Takes little where they are in order already.
            let readings = event.documents.values.sorted { $0.path < $1.path }
            for data in written.sorted(by: { $0.id < $1.id }) {
                told[data.id] = try apply(event, readings, to: data, in: &transaction)
            }
            let changes = try apply(
                readings, readTime: event.version, in: &transaction, using: builder)
            try transaction.raiseLastSnapshotVersion(to: event.version)
            news?.note(changes.map(\.path))
            news?.note(event, of: targets)
            return AppliedRemoteEvent(changes: changes, targets: told)
        }
    }

    /// The last snapshot of the backend that was taken in; none for none.
    package func lastRemoteSnapshotVersion() throws(LarderError) -> SnapshotVersion {
        try begin(.readSnapshotVersion)
        return try store.read { (transaction) throws(LarderError) in
            try transaction.lastSnapshotVersion()
        }
    }

    /// Takes what an event says of a target into the store; what is known of it then.
    ///
    /// - Parameter readings: the event's documents in the order of their names.
    private func apply(
        _ event: RemoteEvent, _ readings: [DocumentReading], to target: TargetData,
        in transaction: inout WriteTransaction
    ) throws(LarderError) -> TargetData {
        let change = event.targets[target.id] ?? RemoteTargetChange()
        var data = target
        data.hear(change, in: event)
        guard let stored = try transaction.target(target.id) else { return data }
        if !change.removed.isEmpty || !change.added.isEmpty {
            try transaction.changeDocuments(
                ofTarget: target.id, removing: change.removed.sorted(),
                adding: change.added.sorted(as: readings))
        }
        guard data.isWorthStoring(over: stored, with: change) else { return data }
        try transaction.put(data, over: stored)
        data.storedVersion = data.resumeToken.isEmpty ? .none : data.snapshotVersion
        return data
    }
}

extension Set<DocumentPath> {
    /// The paths in order.
    ///
    /// - Parameter readings: documents in order. Where most of them are meant, the paths are looked
    ///   for one after the other, which is faster than to sort them.
    fileprivate func sorted(as readings: [DocumentReading]) -> [DocumentPath] {
        guard count > readings.count / 2 else { return sorted() }
        var paths: [DocumentPath] = []
        paths.reserveCapacity(count)
        for reading in readings where contains(reading.path) { paths.append(reading.path) }
        return paths.count == count ? paths : sorted()
    }
}

extension TargetData {
    /// Takes what a backend has told of the target.
    fileprivate mutating func hear(_ change: RemoteTargetChange, in event: RemoteEvent) {
        if event.mismatches[id] != nil {
            resumeToken = []
            snapshotVersion = .none
            limboFreeVersion = .none
        } else if !change.resumeToken.isEmpty {
            resumeToken = change.resumeToken
            snapshotVersion = event.version
        }
    }

    /// Whether the store must be looked at, to see whether the target is to be stored: so little
    /// is to be done for the others that they are many.
    fileprivate func mayBeWorthStoring(with change: RemoteTargetChange, in event: RemoteEvent)
        -> Bool
    {
        resumeToken.isEmpty || storedVersion.isNone
            || event.version.isMinutesAfter(storedVersion)
            || !change.added.isEmpty || !change.modified.isEmpty || !change.removed.isEmpty
    }

    /// Whether the target is to be stored now: its documents changed, it is stored without a
    /// token or must lose it, or what is stored is 5 minutes old.
    fileprivate func isWorthStoring(
        over stored: Target, with change: RemoteTargetChange = RemoteTargetChange()
    ) -> Bool {
        if resumeToken == stored.resumeToken, snapshotVersion == stored.snapshotVersion,
            limboFreeVersion == stored.limboFreeVersion
        {
            return false
        }
        return stored.resumeToken.isEmpty || resumeToken.isEmpty
            || snapshotVersion.isMinutesAfter(stored.snapshotVersion)
            || limboFreeVersion.isMinutesAfter(stored.limboFreeVersion)
            || change.hasDocuments
    }
}

extension StoreNews {
    /// Notes what an event says of active targets.
    fileprivate mutating func note(_ event: RemoteEvent, of active: [Int32: TargetData]) {
        for id in Set(event.targets.keys).union(event.mismatches.keys) where active[id] != nil {
            let change = event.targets[id] ?? RemoteTargetChange()
            targets[id] = Target(
                isCurrent: change.isCurrent, added: change.added.sorted(),
                removed: change.removed.sorted(), isReset: event.mismatches[id] != nil)
        }
    }
}

extension SnapshotVersion {
    /// Whether the version is 5 minutes or more after another.
    fileprivate func isMinutesAfter(_ other: SnapshotVersion) -> Bool {
        let (old, new) = (other.timestamp, timestamp)
        let seconds = new.seconds - old.seconds
        return seconds > 300 || seconds == 300 && new.nanoseconds >= old.nanoseconds
    }
}

extension ReadableTransaction where Self: ~Copyable {
    /// The last snapshot of the backend that was taken in; none for none.
    fileprivate func lastSnapshotVersion() throws(LarderError) -> SnapshotVersion {
        try namedValue(.global, lastSnapshotVersionName)?.time ?? .none
    }
}

extension WriteTransaction {
    /// Remembers a snapshot, unless it is before the last one.
    fileprivate mutating func raiseLastSnapshotVersion(to version: SnapshotVersion)
        throws(LarderError)
    {
        guard try version > lastSnapshotVersion() else { return }
        try putNamedValue(.global, lastSnapshotVersionName, [], time: version)
    }
}

private let lastSnapshotVersionName = "last_remote_snapshot_version"
