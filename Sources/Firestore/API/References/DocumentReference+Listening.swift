import LarderModel
import LarderQuery
import LarderSync

extension DocumentReference {
    /// Calls a closure with the document, now and after each change of it.
    ///
    /// On the callback queue, in order, until the registration is removed. Offline the document
    /// are those of the cache. After an error the closure is not called again.
    @discardableResult
    public func addSnapshotListener(
        _ listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
    ) -> any ListenerRegistration {
        addSnapshotListener(options: SnapshotListenOptions(), listener: listener)
    }

    /// Calls a closure with the document, now and after each change of it or, where that is
    /// asked for, of its metadata.
    @discardableResult
    public func addSnapshotListener(
        includeMetadataChanges: Bool,
        listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
    ) -> any ListenerRegistration {
        addSnapshotListener(
            options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges),
            listener: listener)
    }

    /// Calls a closure with the document, now and after each change that the options ask for.
    @discardableResult
    public func addSnapshotListener(
        options: SnapshotListenOptions,
        listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
    ) -> any ListenerRegistration {
        let source = self
        return firestore.addListener(
            to: query, options: options, listener: listener
        ) { view throws(LarderError) in try source.snapshot(view) }
    }

    /// The document, now and after each change of it.
    ///
    /// See ``SnapshotSequence`` for how they are buffered.
    public var snapshots: SnapshotSequence<DocumentSnapshot> {
        snapshots(includeMetadataChanges: false)
    }

    /// The document, now and after each change of it or, where that is asked for, of its
    /// metadata.
    public func snapshots(
        includeMetadataChanges: Bool
    ) -> SnapshotSequence<DocumentSnapshot> {
        snapshots(
            options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges))
    }

    /// The document, now and after each change that the options ask for.
    public func snapshots(
        options: SnapshotListenOptions
    ) -> SnapshotSequence<DocumentSnapshot> {
        SnapshotSequence { [self] deliver in
            firestore.addListener(to: query, options: options, deliver: deliver) {
                view throws(LarderError) in try self.snapshot(view)
            }
        }
    }
}

extension DocumentReference {
    /// The document in the results of the query for it.
    func snapshot(_ view: ViewSnapshot) throws(LarderError) -> DocumentSnapshot {
        let path = try location.get()
        let document = view.documents.first
        // 6.12: a document that is deleted has no pending writes to show.
        return DocumentSnapshot(
            firestore, path, document,
            SnapshotState(
                hasPendingWrites: document != nil && view.mutatedKeys.contains(path),
                isFromCache: view.isFromCache, readTime: view.readTime))
    }
}
