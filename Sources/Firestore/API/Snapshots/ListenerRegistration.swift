import Dispatch
import LarderModel
import LarderQuery
import LarderSync
import Logging
import Synchronization

/// A listener that is called until it is removed; letting go of this does not remove it.
public protocol ListenerRegistration: AnyObject, Sendable {
    /// Ends the listener; a second call does nothing.
    ///
    /// It is not called any more once this has returned, apart from a call that another thread
    /// is in the middle of; on the callback queue there is none.
    func remove()
}

/// The registration of every kind of listener, pin and observer.
final class Registration: ListenerRegistration {
    private let ended = Atomic<Bool>(false)
    private let source = Mutex<ClientRegistration?>(nil)

    /// Whether the listener is still to be called.
    var isActive: Bool { !ended.load(ordering: .acquiring) }

    /// Takes what is to be ended with the listener.
    func attach(_ registration: ClientRegistration) {
        source.withLock { $0 = registration }
        // It may have been removed, from its first call, before this.
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

/// Where a listener's snapshots come from.
public enum ListenSource: Int, Hashable, Sendable {
    /// The cache first, then the server's word through the cache.
    case `default` = 0
    /// The cache alone; the server is not asked.
    case cache = 1
}

/// What a listener wants to hear of, and from where.
///
/// Immutable: the methods give changed copies.
public final class SnapshotListenOptions: Sendable {
    /// Where the snapshots come from.
    public let source: ListenSource

    /// Whether changes of metadata alone give snapshots, too.
    public let includeMetadataChanges: Bool

    /// Everything but changes of metadata alone, from cache and server.
    public convenience init() {
        self.init(source: .default, includeMetadataChanges: false)
    }

    init(source: ListenSource, includeMetadataChanges: Bool) {
        self.source = source
        self.includeMetadataChanges = includeMetadataChanges
    }

    /// The same, with or without snapshots for changes of metadata alone.
    public func withIncludeMetadataChanges(
        _ includeMetadataChanges: Bool
    ) -> SnapshotListenOptions {
        SnapshotListenOptions(source: source, includeMetadataChanges: includeMetadataChanges)
    }

    /// The same, from another source.
    public func withSource(_ source: ListenSource) -> SnapshotListenOptions {
        SnapshotListenOptions(source: source, includeMetadataChanges: includeMetadataChanges)
    }
}

/// Where a get reads.
public enum FirestoreSource: Int, Hashable, Sendable {
    /// The server, and the cache when it cannot be reached.
    case `default` = 0
    /// The server alone; fails with `unavailable` when it cannot be reached.
    case server = 1
    /// The cache alone, on the calling thread unless earlier writes have to be waited for.
    case cache = 2
}

// MARK: - Listening

extension Firestore {
    /// Adds a listener in Apple's form, called on the callback queue.
    func addListener<Snapshot: Sendable>(
        to query: Result<LarderQuery.Query, LarderError>, options: SnapshotListenOptions,
        listener: @escaping (Snapshot?, (any Error)?) -> Void,
        _ make: @escaping @Sendable (ViewSnapshot) throws(LarderError) -> Snapshot
    ) -> any ListenerRegistration {
        let registration = Registration()
        let listener = Transferred(listener)
        let queue = callbackQueue
        listen(to: query, ListenOptions(options), as: registration) { result in
            queue.async {
                guard registration.isActive else { return }
                // Built here, where the thread is the application's.
                switch result.make(make) {
                case .success(let snapshot): listener.value(snapshot, nil)
                case .failure(let error): listener.value(nil, error)
                }
            }
        }
        return registration
    }

    /// Adds a listener that is called on the client's queue.
    func addListener<Snapshot: Sendable>(
        to query: Result<LarderQuery.Query, LarderError>, options: SnapshotListenOptions,
        deliver: @escaping Completion<Snapshot>,
        _ make: @escaping @Sendable (ViewSnapshot) throws(LarderError) -> Snapshot
    ) -> any ListenerRegistration {
        let registration = Registration()
        listen(to: query, ListenOptions(options), as: registration) { result in
            guard registration.isActive else { return }
            deliver(result.make(make))
        }
        return registration
    }

    /// Answers with the first snapshot of a listener, which is removed before.
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

    /// Calls a closure each time all listeners have heard of a change, and once now.
    ///
    /// On the callback queue, until the registration is removed.
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
