import LarderDocumentStore
package import LarderModel
package import LarderRemote
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
        return try commit(forAll: true) { (transaction, shared) throws(LarderError) in
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
            shared?.note(changes.map(\.path))
            shared?.note(event, of: targets)
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

extension SharedChange {
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
        try namedValue(.global, lastSnapshotVersionName)?.version ?? .none
    }
}

extension WriteTransaction {
    /// Remembers a snapshot, unless it is before the last one.
    fileprivate mutating func raiseLastSnapshotVersion(to version: SnapshotVersion)
        throws(LarderError)
    {
        guard try version > lastSnapshotVersion() else { return }
        try putNamedValue(.global, lastSnapshotVersionName, [], version: version)
    }
}

private let lastSnapshotVersionName = "last_remote_snapshot_version"

extension LocalStore {
    /// Takes documents from a backend into the cache; one commit for all.
    ///
    /// An update counts when nothing is known of its document, when it is newer than what is
    /// known, or when it is of the same version and confirms an acknowledged write. Others are
    /// ignored.
    ///
    /// - Parameters:
    ///   - updates: what the backend said.
    ///   - readTime: the snapshot that said it.
    /// - Returns: the documents whose updates counted, as the user sees them.
    package func applyRemoteDocuments(
        _ updates: [DocumentReading], readTime: SnapshotVersion
    ) throws(LarderError) -> [LocalViewChange] {
        let builder = try RecordBuilder()
        return try commit { (transaction, shared) throws(LarderError) in
            let changes = try apply(
                updates, readTime: readTime, in: &transaction, using: builder)
            shared?.note(changes.map(\.path))
            return changes
        }
    }

    /// Takes documents from a backend into the cache, as ``applyRemoteDocuments(_:readTime:)``.
    ///
    /// - Parameter readTime: the snapshot that said it; nil for the version of each document.
    func apply(
        _ updates: some Sequence<DocumentReading>, readTime: SnapshotVersion?,
        in transaction: inout WriteTransaction, using builder: RecordBuilder
    ) throws(LarderError) -> [LocalViewChange] {
        var cached = CachedDocuments()
        for update in updates {
            let known = try cached.document(at: update.path, in: transaction)
            guard update.counts(over: known) else { continue }
            cached.replace(
                update.path, with: update.document, readTime: readTime ?? update.version)
        }
        let changes = try cached.write(to: &transaction)
        // Without pending writes the user sees what is cached.
        let isPending = try transaction.mutationBatchCount(of: user) > 0
        let before = isPending ? try transaction.overlays(of: changes, by: user) : nil
        try OverlayRefresh(user: user, builder: builder).follow(changes, in: &transaction)
        try followForOthers(changes, in: &transaction, using: builder)
        let after = isPending ? try transaction.overlays(of: changes, by: user) : nil
        return changes.indices.map {
            LocalViewChange(
                path: changes[$0].path, before: before?[$0] ?? changes[$0].before,
                after: after?[$0] ?? changes[$0].after)
        }
    }
}

extension ReadableTransaction where Self: ~Copyable {
    /// What a user's pending writes make of changed documents; nil where there are none.
    fileprivate func overlays(of changes: [CachedDocuments.Change], by user: UserID)
        throws(LarderError) -> [Document?]
    {
        var overlays: [Document?] = []
        overlays.reserveCapacity(changes.count)
        for change in changes {
            overlays.append(try overlay(at: change.path, of: user)?.document)
        }
        return overlays
    }
}

extension DocumentReading {
    /// Whether the update says more than what is cached.
    fileprivate func counts(over known: WorkingDocument) -> Bool {
        if case .nothing = known.state { return true }
        return isForgetting || version > known.version
            || version == known.version && known.hasCommittedMutations
    }

    /// The document as it is to be cached.
    package var document: WorkingDocument {
        switch contents {
        case .found(let record, let createTime):
            WorkingDocument(state: .found(record), version: version, createTime: createTime)
        case .absent:
            WorkingDocument(state: isForgetting ? .nothing : .absent, version: version)
        }
    }

    private var isForgetting: Bool {
        if case .absent = contents { version.isNone } else { false }
    }
}
