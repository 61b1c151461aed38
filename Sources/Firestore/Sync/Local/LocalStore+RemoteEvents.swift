import LarderDocumentStore
package import LarderModel
package import LarderRemote
import OrderedCollections

package struct AppliedRemoteEvent: Sendable {
    /// Changed documents of the cache, as the user sees them.
    package let changes: [LocalChange]
    /// All given targets, updated by the event.
    package let targets: [Int32: TargetData]
}

extension LocalStore {
    /// Applies an event of the backend, in one commit.
    ///
    /// - Parameters:
    ///   - targets: the active targets; changes of others are ignored, and targets that are no
    ///     longer stored are not stored again.
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
            try transaction.raiseLastSnapshotVersion(to: event.version, event.token)
            shared?.note(changes.map(\.path))
            shared?.note(event, of: targets)
            return AppliedRemoteEvent(changes: changes, targets: told)
        }
    }

    /// The last snapshot of the backend that was applied; none before the first.
    package func lastRemoteSnapshotVersion() throws(LarderError) -> SnapshotVersion {
        try begin(.readSnapshotVersion)
        return try store.read { (transaction) throws(LarderError) in
            try transaction.lastSnapshotVersion()
        }
    }

    /// The token of the last snapshot that had one; empty before the first.
    func lastToken() throws(LarderError) -> [UInt8] {
        try begin(.readSnapshotVersion)
        return try store.read { (transaction) throws(LarderError) in
            try transaction.lastToken()
        }
    }

    /// Applies an event to a target in the store, and returns the target.
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
    /// - Parameter readings: documents in order. If the set has most of them, a scan is faster than
    ///   sorting.
    fileprivate func sorted(as readings: [DocumentReading]) -> [DocumentPath] {
        guard count > readings.count / 2 else { return sorted() }
        var paths: [DocumentPath] = []
        paths.reserveCapacity(count)
        for reading in readings where contains(reading.path) { paths.append(reading.path) }
        return paths.count == count ? paths : sorted()
    }
}

extension TargetData {
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

    /// Whether the stored target must be read to decide about storing; false for most targets of a
    /// snapshot.
    fileprivate func mayBeWorthStoring(with change: RemoteTargetChange, in event: RemoteEvent)
        -> Bool
    {
        resumeToken.isEmpty || storedVersion.isNone
            || event.version.isMinutesAfter(storedVersion)
            || !change.added.isEmpty || !change.modified.isEmpty || !change.removed.isEmpty
    }

    /// Whether to store the target now: its documents changed, its stored token is missing or
    /// obsolete, or its stored state is 5 minutes old.
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
    /// Adds the changes of active targets.
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
    fileprivate func isMinutesAfter(_ other: SnapshotVersion) -> Bool {
        let (old, new) = (other.timestamp, timestamp)
        let seconds = new.seconds - old.seconds
        return seconds > 300 || seconds == 300 && new.nanoseconds >= old.nanoseconds
    }
}

extension ReadableTransaction where Self: ~Copyable {
    /// The last snapshot of the backend that was applied; none before the first.
    fileprivate func lastSnapshotVersion() throws(LarderError) -> SnapshotVersion {
        try namedValue(.global, lastSnapshotVersionName)?.version ?? .none
    }

    /// The token of the last snapshot that had one; empty before the first.
    fileprivate func lastToken() throws(LarderError) -> [UInt8] {
        try namedValue(.global, lastSnapshotVersionName)?.payload ?? []
    }
}

extension RemoteEvent {
    /// The token of the target with the lowest ID; nil for none.
    fileprivate var token: [UInt8]? {
        targets.lazy.filter { !$0.value.resumeToken.isEmpty }.min { $0.key < $1.key }?
            .value.resumeToken
    }
}

extension WriteTransaction {
    fileprivate mutating func raiseLastSnapshotVersion(
        to version: SnapshotVersion, _ token: [UInt8]?
    ) throws(LarderError) {
        guard try version > lastSnapshotVersion() else { return }
        let token = if let token { token } else { try lastToken() }
        try putNamedValue(.global, lastSnapshotVersionName, token, version: version)
    }
}

private let lastSnapshotVersionName = "last_remote_snapshot_version"

extension LocalStore {
    /// Caches documents of a backend, in one commit.
    ///
    /// An update is used if its document is unknown or older, or has the same version and an
    /// acknowledged write. Others are ignored.
    ///
    /// - Parameters:
    ///   - readTime: the snapshot of the updates.
    /// - Returns: the updated documents, as the user sees them.
    package func applyRemoteDocuments(
        _ updates: [DocumentReading], readTime: SnapshotVersion
    ) throws(LarderError) -> [LocalChange] {
        let builder = try RecordBuilder()
        return try commit { (transaction, shared) throws(LarderError) in
            let changes = try apply(
                updates, readTime: readTime, in: &transaction, using: builder)
            shared?.note(changes.map(\.path))
            return changes
        }
    }

    /// - Parameter readTime: the snapshot of the updates; nil for the version of each document.
    func apply(
        _ updates: some Sequence<DocumentReading>, readTime: SnapshotVersion?,
        in transaction: inout WriteTransaction, using builder: RecordBuilder
    ) throws(LarderError) -> [LocalChange] {
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
            LocalChange(
                path: changes[$0].path, before: before?[$0] ?? changes[$0].before,
                after: after?[$0] ?? changes[$0].after)
        }
    }
}

extension ReadableTransaction where Self: ~Copyable {
    /// The overlays of changed documents; nil for documents without pending writes.
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
    /// Whether the update replaces the cached document.
    func counts(over known: WorkingDocument) -> Bool {
        if case .nothing = known.state { return true }
        return isForgetting || version > known.version
            || version == known.version && known.hasCommittedMutations
    }

    /// The document to be cached.
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
