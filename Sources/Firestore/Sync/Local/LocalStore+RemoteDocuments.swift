package import LarderModel
package import LarderRemote
import LarderStorage

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
        return try commit { (transaction, news) throws(LarderError) in
            let changes = try apply(
                updates, readTime: readTime, in: &transaction, using: builder)
            news?.note(changes.map(\.path))
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
