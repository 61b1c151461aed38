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
        perform {
            $0.observers.snapshotsInSync.add(id) { deliver() }
            deliver()
        }
        return ClientRegistration { [weak self] in
            self?.perform { $0.observers.snapshotsInSync.remove(id) }
        }
    }

    /// Keeps what matches a query, now and later, from eviction until it is removed.
    package func pin(_ query: Query) -> ClientRegistration {
        listen(to: query, options: ListenOptions(source: .cache)) { _ in }
    }

    /// Calls a closure once every listener so far has its first result, or an error.
    package func afterLoading(_ body: @escaping @Sendable () -> Void) {
        perform({ $0.loading.wait(body) }, otherwise: body)
    }

    // MARK: Bundles

    /// Loads a bundle: its documents into the cache, its queries under their names.
    ///
    /// Other work is done between its parts. What came before an error stays.
    ///
    /// - Parameters:
    ///   - source: the bundle's bytes, which are read as they are needed.
    ///   - progress: called on the client's queue with every step forward; the last one says how
    ///     it ended.
    ///   - completion: called once, after the last progress.
    package func loadBundle(
        from source: any BundleSource,
        progress: @escaping @Sendable (LoadBundleProgress) -> Void,
        completion: @escaping @Sendable (Result<LoadBundleProgress, LarderError>) -> Void
    ) {
        perform(
            { $0.loadBundle(from: source, progress, completion) },
            otherwise: {
                var failed = LoadBundleProgress()
                failed.state = .error
                progress(failed)
                completion(.failure(Self.terminated))
            })
    }

    /// The query that a bundle has brought under a name; nil for none.
    package func namedQuery(_ name: String) throws(LarderError) -> NamedQuery? {
        try checkOpen()
        return try engine.localStore.namedQuery(name)
    }
}
