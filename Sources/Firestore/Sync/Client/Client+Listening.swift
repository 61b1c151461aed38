package import LarderModel
package import LarderQuery

extension Client {
    /// Calls a closure with what matches a query, now and after each change of it, in order.
    ///
    /// The closure is called on the client's queue and must return soon.
    package func listen(
        to query: Query, options: ListenOptions,
        deliver: @escaping @Sendable (Result<ViewSnapshot, LarderError>) -> Void
    ) -> ClientRegistration {
        let id = engine.newID()
        let listener = QueuedListener(id: id, query: query, options: options, deliver: deliver)
        if !engine.add(.listen(listener)) { deliver(.failure(Self.terminated)) }
        return ClientRegistration { [weak self] in self?.perform { $0.removeListener(id) } }
    }

    /// Calls a closure whenever listeners have heard of changes, and once now.
    package func addSnapshotsInSyncListener(
        _ deliver: @escaping @Sendable () -> Void
    ) -> ClientRegistration {
        let id = engine.newID()
        perform { $0.addInSyncListener(id, deliver) }
        return ClientRegistration { [weak self] in self?.perform { $0.removeInSyncListener(id) } }
    }

    /// Keeps what matches a query, now and later, from eviction until it is removed.
    package func pin(_ query: Query) -> ClientRegistration {
        listen(to: query, options: ListenOptions(source: .cache)) { _ in }
    }

    /// Calls a closure once every listener so far has its first result, or an error.
    package func afterLoading(_ body: @escaping @Sendable () -> Void) {
        perform({ $0.whenLoaded(body) }, otherwise: body)
    }
}
