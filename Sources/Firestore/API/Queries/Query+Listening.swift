import LarderModel
import LarderQuery
import LarderSync

extension Query {
    /// Calls a closure with the results, now and after each change of them.
    ///
    /// On the callback queue, in order, until the registration is removed. Offline the results
    /// are those of the cache. After an error the closure is not called again.
    @discardableResult
    public func addSnapshotListener(
        _ listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
    ) -> any ListenerRegistration {
        addSnapshotListener(options: SnapshotListenOptions(), listener: listener)
    }

    /// Calls a closure with the results, now and after each change of them or, where that is
    /// asked for, of their metadata.
    @discardableResult
    public func addSnapshotListener(
        includeMetadataChanges: Bool,
        listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
    ) -> any ListenerRegistration {
        addSnapshotListener(
            options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges),
            listener: listener)
    }

    /// Calls a closure with the results, now and after each change that the options ask for.
    @discardableResult
    public func addSnapshotListener(
        options: SnapshotListenOptions,
        listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
    ) -> any ListenerRegistration {
        let source = self
        return firestore.addListener(
            to: executable, options: options, listener: listener
        ) { view throws(LarderError) in QuerySnapshot(source, view) }
    }

    /// The results, now and after each change of them.
    ///
    /// See ``SnapshotSequence`` for how they are buffered.
    public var snapshots: SnapshotSequence<QuerySnapshot> {
        snapshots(includeMetadataChanges: false)
    }

    /// The results, now and after each change of them or, where that is asked for, of their
    /// metadata.
    public func snapshots(
        includeMetadataChanges: Bool
    ) -> SnapshotSequence<QuerySnapshot> {
        snapshots(
            options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges))
    }

    /// The results, now and after each change that the options ask for.
    public func snapshots(
        options: SnapshotListenOptions
    ) -> SnapshotSequence<QuerySnapshot> {
        SnapshotSequence { [self] deliver in
            firestore.addListener(to: executable, options: options, deliver: deliver) {
                view throws(LarderError) in QuerySnapshot(self, view)
            }
        }
    }
}
