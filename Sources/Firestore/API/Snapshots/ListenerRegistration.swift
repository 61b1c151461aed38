import Dispatch
import LarderModel
import LarderQuery
import LarderSync
import Logging
import Synchronization

/// The registration of a listener, which stays active until it is removed, even if this object is
/// deallocated.
public protocol ListenerRegistration: AnyObject, Sendable {
    /// Removes the listener; a second call has no effect.
    ///
    /// After this returns, the listener is not called again, except that a call already in progress
    /// on another thread may still finish; on the callback queue there is none.
    func remove()
}

/// The registration of every kind of listener, pin and observer.
final class Registration: ListenerRegistration {
    private let ended = Atomic<Bool>(false)
    private let source = Mutex<ClientRegistration?>(nil)

    /// False once ``remove()`` was called.
    var isActive: Bool { !ended.load(ordering: .acquiring) }

    /// Attaches the client's registration, which is removed with this one.
    func attach(_ registration: ClientRegistration) {
        source.withLock { $0 = registration }
        // The first call of the listener may already have removed it.
        if !isActive { detach() }
    }

    func remove() {
        ended.store(true, ordering: .releasing)
        detach()
    }

    private func detach() {
        let registration = source.withLock { source in
            defer { source = nil }
            return source
        }
        registration?.remove()
    }
}

/// The source of a listener's snapshots.
public enum ListenSource: UInt, Hashable, Sendable {
    /// The cache first, then updates from the server.
    case `default` = 0
    /// Only the cache, without any request to the server.
    case cache = 1
}

/// Options of a listener: its source, and whether it is notified of metadata changes.
///
/// Immutable; methods return changed copies.
public final class SnapshotListenOptions: Sendable {
    /// The source of the snapshots.
    public let source: ListenSource

    /// Whether changes of metadata alone produce snapshots.
    public let includeMetadataChanges: Bool

    /// Creates options for the default source without changes of metadata alone.
    public convenience init() {
        self.init(source: .default, includeMetadataChanges: false)
    }

    init(source: ListenSource, includeMetadataChanges: Bool) {
        self.source = source
        self.includeMetadataChanges = includeMetadataChanges
    }

    /// A copy with or without snapshots for changes of metadata alone.
    public func withIncludeMetadataChanges(
        _ includeMetadataChanges: Bool
    ) -> SnapshotListenOptions {
        SnapshotListenOptions(source: source, includeMetadataChanges: includeMetadataChanges)
    }

    /// A copy with another source.
    public func withSource(_ source: ListenSource) -> SnapshotListenOptions {
        SnapshotListenOptions(source: source, includeMetadataChanges: includeMetadataChanges)
    }
}

/// The source of a get.
public enum FirestoreSource: UInt, Hashable, Sendable {
    /// The server, or the cache if the server cannot be reached.
    case `default` = 0
    /// Only the server; fails with `unavailable` if it cannot be reached.
    case server = 1
    /// Only the cache, on the calling thread unless the get has to wait for earlier writes.
    case cache = 2
}

// MARK: - Listening

extension SnapshotSequence {
    /// A sequence of what a listener with a registration delivers.
    init(
        _ bufferingPolicy: Stream.Continuation.BufferingPolicy = .unbounded,
        _ listen: @escaping @Sendable (@escaping Completion<Element>) -> any ListenerRegistration
    ) {
        self.init(
            bufferingPolicy,
            listen: { deliver in
                let registration = listen { result in deliver(result.mapError { $0 }) }
                return { registration.remove() }
            })
    }
}

extension Firestore {
    /// Adds a listener that is called on the callback queue.
    func addListener<Snapshot: Sendable>(
        to query: Result<LarderQuery.Query, LarderError>, options: SnapshotListenOptions,
        listener: @escaping (Snapshot?, (any Error)?) -> Void,
        _ make: @escaping @Sendable (ViewSnapshot) throws(LarderError) -> Snapshot
    ) -> any ListenerRegistration {
        let registration = Registration()
        let listener = Transferred(listener)
        let (queue, mailbox, deliveries) = (callbackQueue, SnapshotMailbox(), connection.deliveries)
        listen(to: query, ListenOptions(options), as: registration) { result in
            guard mailbox.add(result) else { return }
            deliveries.begin()
            queue.async {
                defer { deliveries.end() }
                guard let result = mailbox.take(), registration.isActive else { return }
                // Built here, where the thread is the application's.
                switch result.make(make) {
                case .success(let snapshot): listener.value(snapshot, nil)
                case .failure(let error): listener.value(nil, error)
                }
            }
        }
        return registration
    }

    /// The snapshots of a query as a sequence, whose elements are made from a view's.
    func snapshots<Snapshot: Sendable>(
        of query: Result<LarderQuery.Query, LarderError>, options: SnapshotListenOptions,
        _ make: @escaping @Sendable (ViewSnapshot) throws(LarderError) -> Snapshot
    ) -> SnapshotSequence<Snapshot> {
        SnapshotSequence(fetching: { [self] wake in
            let (registration, mailbox) = (Registration(), SnapshotMailbox())
            listen(to: query, ListenOptions(options), as: registration) { result in
                if mailbox.add(result) { wake() }
            }
            return SnapshotSequence.Source(
                next: {
                    while !mailbox.isEmpty {
                        if let result = mailbox.take() { return result.make(make).mapError { $0 } }
                    }
                    return nil
                }, remove: { registration.remove() })
        })
    }

    /// Completes with the first snapshot of a temporary listener.
    func firstSnapshot(
        of query: Result<LarderQuery.Query, LarderError>, _ done: @escaping Completion<ViewSnapshot>
    ) {
        let registration = Registration()
        let options = ListenOptions(
            includeMetadataChanges: true, waitForSyncWhenOnline: true)
        listen(to: query, options, as: registration) { result in
            guard registration.isActive else { return }
            registration.remove()
            done(result)
        }
    }

    private func listen(
        to query: Result<LarderQuery.Query, LarderError>, _ options: ListenOptions,
        as registration: Registration, deliver: @escaping Completion<ViewSnapshot>
    ) {
        do throws(LarderError) {
            let query = try query.get()
            registration.attach(
                try connection.client().listen(to: query, options: options, deliver: deliver))
        } catch {
            deliver(.failure(error))
        }
    }

    /// Calls a closure now and each time all listeners have been notified of a change.
    ///
    /// Calls happen on the callback queue until the registration is removed.
    @discardableResult
    public func addSnapshotsInSyncListener(
        _ listener: @escaping () -> Void
    ) -> any ListenerRegistration {
        let registration = Registration()
        let listener = Transferred(listener)
        let queue = callbackQueue
        do throws(LarderError) {
            registration.attach(
                try connection.client().addSnapshotsInSyncListener {
                    queue.async {
                        if registration.isActive { listener.value() }
                    }
                })
        } catch {
            logger.error("addSnapshotsInSyncListener: \(error.message)")
        }
        return registration
    }
}

extension Result where Success == ViewSnapshot, Failure == LarderError {
    fileprivate func make<Snapshot>(
        _ make: (ViewSnapshot) throws(LarderError) -> Snapshot
    ) -> Result<Snapshot, LarderError> {
        flatMap { view in Result<Snapshot, LarderError> { () throws(LarderError) in try make(view) }
        }
    }
}

extension ListenOptions {
    fileprivate init(_ options: SnapshotListenOptions) {
        self.init(
            includeMetadataChanges: options.includeMetadataChanges,
            source: options.source == .cache ? .cache : .default)
    }
}
