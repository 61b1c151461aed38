import LarderCore
import LarderRealtimeModel
import LarderRealtimeSync
import Synchronization

/// A registered observer: of a closure, a sequence or a wait for one event.
final class Observer: Sendable {
    let id: ListenerID
    let query: QuerySpec
    private let hasEnded = Atomic<Bool>(false)

    init(_ id: ListenerID, _ query: QuerySpec) {
        self.id = id
        self.query = query
    }

    /// False once the observer was removed, cancelled or has had its only event.
    var isActive: Bool { !hasEnded.load(ordering: .acquiring) }

    /// Ends the observer; false if it had ended.
    func end() -> Bool {
        !hasEnded.exchange(true, ordering: .acquiringAndReleasing)
    }
}

/// The observers of a database by location, so that removing one is synchronous.
final class ObserverRegistry: Sendable {
    private let observers = Mutex<[TreePath: [ListenerID: Observer]]>([:])

    func add(_ observer: Observer) {
        observers.withLock { $0[observer.query.path, default: [:]][observer.id] = observer }
    }

    /// Forgets an observer; false if it is not there.
    func remove(_ observer: Observer) -> Bool {
        observers.withLock { observers in
            let path = observer.query.path
            guard observers[path]?.removeValue(forKey: observer.id) != nil else { return false }
            if observers[path]?.isEmpty == true { observers[path] = nil }
            return true
        }
    }

    /// Removes the observers of a query, or of all queries at a plain location, and ends them.
    ///
    /// - Parameter handle: only the one of that handle; nil for all.
    func remove(of query: QuerySpec, _ handle: DatabaseHandle?) -> [Observer] {
        observers.withLock { observers in
            let here = observers[query.path] ?? [:]
            let matching = here.values.filter { observer in
                (handle == nil || observer.id.rawValue == handle)
                    && (query.isDefault || observer.query == query)
            }
            for observer in matching {
                _ = observer.end()
                observers[query.path]?[observer.id] = nil
            }
            if observers[query.path]?.isEmpty == true { observers[query.path] = nil }
            return matching
        }
    }

    /// The last handle that was given, over all databases.
    private static let lastHandle = Atomic<UInt>(0)

    /// A handle that no other observer of the process has.
    static func newID() -> ListenerID {
        ListenerID(lastHandle.wrappingAdd(1, ordering: .relaxed).newValue)
    }
}

// MARK: - Observing

extension Database {
    /// Adds an observer.
    ///
    /// - Parameter deliver: called for each event on the client's queue.
    func observe(
        _ query: Result<QuerySpec, LarderError>, _ types: Set<TreeEventType>,
        includesMetadataChanges: Bool = false,
        _ deliver: @escaping @Sendable (Observer, TreeEvent) -> Void
    ) -> Observer {
        let id = ObserverRegistry.newID()
        do throws(LarderError) {
            let observer = Observer(id, try query.get())
            observers.add(observer)
            do throws(LarderError) {
                try connection.client().listen(
                    to: observer.query,
                    Listener(id, types, includesMetadataChanges: includesMetadataChanges)
                ) { [weak self] event in
                    if case .cancelled = event.change { _ = self?.observers.remove(observer) }
                    deliver(observer, event)
                }
            } catch {
                _ = observers.remove(observer)
                deliver(observer, .ending(id, observer.query, error))
            }
            return observer
        } catch {
            let observer = Observer(id, QuerySpec(.root))
            deliver(observer, .ending(id, observer.query, error))
            return observer
        }
    }

    /// Removes an observer that has ended or is to end.
    func remove(_ observer: Observer) {
        _ = observer.end()
        guard observers.remove(observer) else { return }
        connection.existingClient?.removeListener(observer.id, from: observer.query)
    }

    /// Removes the observers of a query; see ``ObserverRegistry/remove(of:_:)``.
    func removeObservers(of query: QuerySpec, _ handle: DatabaseHandle?) {
        for observer in observers.remove(of: query, handle) {
            connection.existingClient?.removeListener(observer.id, from: observer.query)
        }
    }
}
