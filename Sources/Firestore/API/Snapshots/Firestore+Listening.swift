import Dispatch
import LarderModel
import LarderQuery
import LarderSync
import Logging

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
