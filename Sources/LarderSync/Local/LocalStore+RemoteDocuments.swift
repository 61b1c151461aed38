package import LarderModel
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
        _ updates: [RemoteDocumentUpdate], readTime: SnapshotVersion
    ) throws(LarderError) -> [LocalViewChange] {
        let builder = try RecordBuilder()
        return try store.write { (transaction) throws(LarderError) in
            var (touched, cached) = (ViewChanges(of: user), CachedDocuments())
            for update in updates {
                let known = try cached.document(at: update.path, in: transaction)
                guard update.counts(over: known) else { continue }
                try touched.note(update.path, in: transaction)
                cached.replace(update.path, with: update.document, readTime: readTime)
            }
            let changes = try cached.write(to: &transaction)
            try OverlayRefresh(user: user, builder: builder).follow(changes, in: &transaction)
            try followForOthers(changes, in: &transaction, using: builder)
            return try touched.changes(in: transaction)
        }
    }
}

extension RemoteDocumentUpdate {
    /// Whether the update says more than what is cached.
    fileprivate func counts(over known: WorkingDocument) -> Bool {
        if case .nothing = known.state { return true }
        return isForgetting || version > known.version
            || version == known.version && known.hasCommittedMutations
    }

    /// The document as it is to be cached.
    fileprivate var document: WorkingDocument {
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
