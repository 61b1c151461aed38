import LarderCore
import LarderRealtimeModel
import LarderRealtimeSync
public import LarderRuntime
import Synchronization

extension DatabaseQuery {
    /// Observes one kind of event of the location or the query.
    ///
    /// The block is called on the callback queue, for events of data that is known already, of the
    /// server's changes and of local writes, also while offline; not after the observer was
    /// removed. A query that the server refuses ends without a call; the other form has a block
    /// for that.
    ///
    /// - Returns: a handle for ``removeObserver(withHandle:)``.
    @discardableResult
    public func observe(
        _ eventType: DataEventType, with block: @escaping (DataSnapshot) -> Void
    ) -> DatabaseHandle {
        observe(eventType, with: block, withCancel: nil)
    }

    /// Observes one kind of event of the location or the query.
    ///
    /// - Parameters:
    ///   - eventType: the kind of event.
    ///   - block: called on the callback queue for each event.
    ///   - cancelBlock: called on the callback queue if the server refuses the query, or if the
    ///     query is invalid; nothing follows.
    /// - Returns: a handle for ``removeObserver(withHandle:)``.
    @discardableResult
    public func observe(
        _ eventType: DataEventType, with block: @escaping (DataSnapshot) -> Void,
        withCancel cancelBlock: ((any Error) -> Void)?
    ) -> DatabaseHandle {
        observe(
            eventType, andPreviousSiblingKeyWith: { snapshot, _ in block(snapshot) },
            withCancel: cancelBlock)
    }

    /// Observes one kind of event; the block receives the key of the sibling before the child in
    /// the query's order as well, nil for the first child.
    @discardableResult
    public func observe(
        _ eventType: DataEventType,
        andPreviousSiblingKeyWith block: @escaping (DataSnapshot, String?) -> Void
    ) -> DatabaseHandle {
        observe(eventType, andPreviousSiblingKeyWith: block, withCancel: nil)
    }

    /// Observes one kind of event; the block receives the key of the sibling before the child in
    /// the query's order as well, nil for the first child.
    ///
    /// See ``observe(_:with:withCancel:)``.
    @discardableResult
    public func observe(
        _ eventType: DataEventType,
        andPreviousSiblingKeyWith block: @escaping (DataSnapshot, String?) -> Void,
        withCancel cancelBlock: ((any Error) -> Void)?
    ) -> DatabaseHandle {
        observeOnQueue(eventType, once: false, block, cancelBlock)
    }

    /// Observes the data of the location or the query; with metadata changes, the block is called again
    /// when nothing but ``DataSnapshot/metadata-swift.property`` has changed.
    ///
    /// - Parameters:
    ///   - includeMetadataChanges: true for a call, with the same data, when the server has confirmed
    ///     cached data, has acknowledged the last local write, or when data has become complete.
    ///   - block: called on the callback queue for each value.
    ///   - cancelBlock: called on the callback queue if the server refuses the query, or if the
    ///     query is invalid; nothing follows.
    /// - Returns: a handle for ``removeObserver(withHandle:)``.
    @discardableResult
    public func observeValue(
        includeMetadataChanges: Bool, with block: @escaping (DataSnapshot) -> Void,
        withCancel cancelBlock: ((any Error) -> Void)? = nil
    ) -> DatabaseHandle {
        observeOnQueue(
            .value, once: false, includesMetadataChanges: includeMetadataChanges,
            { snapshot, _ in block(snapshot) }, cancelBlock)
    }

    // MARK: Single events

    /// Observes the first event of one kind, then ends.
    ///
    /// For `value` that is the complete data: from the cache if it holds all of the query, which
    /// may be out of date, otherwise from the server. Without both, the block is not called until
    /// the server can be reached; ``getData()`` has a time limit.
    public func observeSingleEvent(
        of eventType: DataEventType, with block: @escaping (DataSnapshot) -> Void
    ) {
        observeSingleEvent(of: eventType, with: block, withCancel: nil)
    }

    /// Observes the first event of one kind, then ends.
    ///
    /// See ``observeSingleEvent(of:with:)`` and ``observe(_:with:withCancel:)``.
    public func observeSingleEvent(
        of eventType: DataEventType, with block: @escaping (DataSnapshot) -> Void,
        withCancel cancelBlock: ((any Error) -> Void)?
    ) {
        observeSingleEvent(
            of: eventType, andPreviousSiblingKeyWith: { snapshot, _ in block(snapshot) },
            withCancel: cancelBlock)
    }

    /// Observes the first event of one kind, then ends; the block receives the key of the sibling
    /// before the child as well.
    public func observeSingleEvent(
        of eventType: DataEventType,
        andPreviousSiblingKeyWith block: @escaping (DataSnapshot, String?) -> Void
    ) {
        observeSingleEvent(of: eventType, andPreviousSiblingKeyWith: block, withCancel: nil)
    }

    /// Observes the first event of one kind, then ends; the block receives the key of the sibling
    /// before the child as well.
    ///
    /// See ``observeSingleEvent(of:with:)`` and ``observe(_:with:withCancel:)``.
    public func observeSingleEvent(
        of eventType: DataEventType,
        andPreviousSiblingKeyWith block: @escaping (DataSnapshot, String?) -> Void,
        withCancel cancelBlock: ((any Error) -> Void)?
    ) {
        observeOnQueue(eventType, once: true, block, cancelBlock)
    }

    /// Suspends until the first event of one kind.
    ///
    /// If the server refuses the query, the query is invalid or the task is cancelled, the
    /// snapshot has no data, and its metadata says that it is not complete; see
    /// ``observeSingleEvent(of:with:)``.
    public nonisolated(nonsending) func observeSingleEvent(
        of eventType: DataEventType
    ) async -> DataSnapshot {
        await observeSingleEventAndPreviousSiblingKey(of: eventType).0
    }

    /// Suspends until the first event of one kind; the result has the key of the sibling before
    /// the child as well.
    ///
    /// See ``observeSingleEvent(of:)``.
    public nonisolated(nonsending) func observeSingleEventAndPreviousSiblingKey(
        of eventType: DataEventType
    ) async -> (DataSnapshot, String?) {
        let first = OneShot<ObservedEvent>(errorDomain: LarderError.realtimeDomain)
        let observer = owner.observe(spec, [TreeEventType(eventType)]) { [owner] observer, event in
            guard observer.end() else { return }
            first.finish(event.observed(in: owner))
        }
        defer { owner.remove(observer) }
        do throws(LarderError) {
            let event = try await first.value()
            return (event.snapshot, event.previousKey)
        } catch {
            let nothing = DataSnapshot.Metadata(
                isComplete: false, isFromCache: true, hasPendingWrites: false)
            return (DataSnapshot(ref, .empty, by: .priority, nothing), nil)
        }
    }

    // MARK: Ends

    /// Removes an observer; its block is not called any more, apart from a call that is running
    /// on another thread.
    ///
    /// A plain reference removes the observer of any query at its location, a query only one of
    /// its own.
    public func removeObserver(withHandle handle: DatabaseHandle) {
        guard let spec = try? spec.get() else { return }
        owner.removeObservers(of: spec, handle)
    }

    /// Removes all observers of the location or the query; see ``removeObserver(withHandle:)``.
    ///
    /// Neither locations below nor ``keepSynced(_:)`` are affected.
    public func removeAllObservers() {
        guard let spec = try? spec.get() else { return }
        owner.removeObservers(of: spec, nil)
    }
}

// MARK: - Sequences

extension DatabaseQuery {
    /// The data of the location or the query, now and after each change of it or of its metadata, once
    /// it is complete.
    ///
    /// When the server has confirmed cached data, a snapshot with the same data follows whose
    /// ``DataSnapshot/Metadata/isFromCache`` is false.
    ///
    /// Only the newest snapshot is buffered: a slow consumer skips snapshots, but never the last
    /// one. If the server refuses the query, the sequence throws a ``DatabaseError``.
    public var values: SnapshotSequence<DataSnapshot> {
        sequence(.bufferingNewest(1), [.value]) { $0.snapshot }
    }

    /// The events of the location's or the query's children, in their order, starting with the
    /// children that are known.
    ///
    /// Events are buffered without limit. If the server refuses the query, the sequence throws a
    /// ``DatabaseError``.
    public var childEvents: SnapshotSequence<ChildEvent> {
        sequence(.unbounded, [.childAdded, .childChanged, .childMoved, .childRemoved]) {
            ChildEvent(
                type: $0.type, snapshot: $0.snapshot, previousSiblingKey: $0.previousKey)
        }
    }

    /// An event of a child.
    public struct ChildEvent: Sendable {
        /// The type of the change.
        public let type: DataEventType
        /// The child; as it was if it was removed.
        public let snapshot: DataSnapshot
        /// The key of the sibling before it in the query's order; nil for the first child and a
        /// removed one.
        public let previousSiblingKey: String?
    }

    private func sequence<Element: Sendable>(
        _ buffering: SnapshotSequence<Element>.Stream.Continuation.BufferingPolicy,
        _ types: Set<TreeEventType>, _ make: @escaping @Sendable (ObservedEvent) -> Element
    ) -> SnapshotSequence<Element> {
        SnapshotSequence(
            buffering,
            listen: { [self] deliver in
                let observer = owner.observe(
                    spec, types, includesMetadataChanges: true
                ) { [owner] observer, event in
                    guard observer.isActive else { return }
                    deliver(
                        event.observed(in: owner).map(make).mapError { DatabaseError($0) })
                }
                return { [owner] in owner.remove(observer) }
            })
    }
}

// MARK: - Events

/// An event as applications see it.
struct ObservedEvent: Sendable {
    let type: DataEventType
    let snapshot: DataSnapshot
    let previousKey: String?
}

extension TreeEvent {
    /// The event as applications of a database see it, or the error that ends the observer.
    func observed(in database: Database) -> Result<ObservedEvent, LarderError> {
        let metadata = DataSnapshot.Metadata(metadata)
        let ref = DatabaseReference(database, .success(query.path))
        switch change {
        case .value(let node):
            return .success(
                ObservedEvent(
                    type: .value,
                    snapshot: DataSnapshot(ref, node, by: query.parameters.index, metadata),
                    previousKey: nil))
        case .child(let type, let child, let previous):
            return .success(
                ObservedEvent(
                    type: DataEventType(type),
                    snapshot: DataSnapshot(ref.child(child), child.node, by: .priority, metadata),
                    previousKey: previous?.text))
        case .cancelled(let error):
            return .failure(error)
        }
    }
}

extension DatabaseQuery {
    @discardableResult
    private func observeOnQueue(
        _ type: DataEventType, once: Bool, includesMetadataChanges: Bool = false,
        _ block: @escaping (DataSnapshot, String?) -> Void,
        _ cancelBlock: ((any Error) -> Void)?
    ) -> DatabaseHandle {
        let block = Transferred(block)
        let cancelBlock = Transferred(cancelBlock)
        let callbacks = owner.callbacks
        // An observer does not keep its database from being deallocated.
        return owner.observe(
            spec, [TreeEventType(type)], includesMetadataChanges: includesMetadataChanges
        ) { [weak owner] observer, event in
            callbacks.add { [weak owner] in
                // Checked here, so that nothing arrives after a removal on the callback queue.
                guard let owner, once ? observer.end() : observer.isActive else { return }
                if once { owner.remove(observer) }
                // Built here, where the thread is the application's.
                switch event.observed(in: owner) {
                case .success(let event): block.value(event.snapshot, event.previousKey)
                case .failure(let error):
                    _ = observer.end()
                    cancelBlock.value?(DatabaseError(error))
                }
            }
        }.id.rawValue
    }
}

extension TreeEventType {
    fileprivate init(_ type: DataEventType) {
        self =
            switch type {
            case .childAdded: .childAdded
            case .childRemoved: .childRemoved
            case .childChanged: .childChanged
            case .childMoved: .childMoved
            case .value: .value
            }
    }
}

extension DataEventType {
    fileprivate init(_ type: TreeEventType) {
        self =
            switch type {
            case .childAdded: .childAdded
            case .childRemoved: .childRemoved
            case .childChanged: .childChanged
            case .childMoved: .childMoved
            case .value: .value
            }
    }
}
