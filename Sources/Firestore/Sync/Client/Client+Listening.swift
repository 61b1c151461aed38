package import LarderModel
package import LarderQuery

extension Client {
    /// Calls a closure with the result of a query, now and after each change.
    ///
    /// The closure is called on the client's queue and must return soon.
    package func listen(
        to query: Query, options: ListenOptions,
        deliver: @escaping @Sendable (Result<ViewSnapshot, LarderError>) -> Void
    ) -> ClientRegistration {
        let id = engine.newID()
        var options = options
        do throws(LarderError) {
            if try engine.cacheRules.isLocalOnly(query.source) { options.source = .cache }
        } catch {
            deliver(.failure(error))
            return ClientRegistration {}
        }
        let listener = QueuedListener(id: id, query: query, options: options, deliver: deliver)
        if !engine.add(.listen(listener)) { deliver(.failure(Self.terminated)) }
        return ClientRegistration { [weak self] in self?.perform { $0.removeListener(id) } }
    }

    /// Calls a closure after each delivery of snapshots to listeners, and once now.
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

    /// Keeps the present and future documents of a query from eviction until it is removed.
    package func pin(_ query: Query) -> ClientRegistration {
        listen(to: query, options: ListenOptions(source: .cache)) { _ in }
    }

    /// Calls a closure once every listener so far has its first result, or an error.
    package func afterLoading(_ body: @escaping @Sendable () -> Void) {
        perform({ $0.loading.wait(body) }, otherwise: body)
    }

    /// Calls a closure once the listeners that the engine has begun to serve have their first results,
    /// or an error: at once if they do.
    package func afterFirstResults(_ body: @escaping @Sendable () -> Void) {
        if engine.isLoading { afterLoading(body) } else { body() }
    }

    // MARK: Bundles

    /// Loads a bundle: its documents into the cache, its queries under their names.
    ///
    /// Other requests are served between its parts. Documents before an error stay cached. A local
    /// database refuses bundles with `failedPrecondition`: they would replace final documents.
    ///
    /// - Parameters:
    ///   - progress: called on the client's queue after each step; the last one is the final state.
    ///   - completion: called once, after the last progress.
    package func loadBundle(
        from source: any BundleSource,
        progress: @escaping @Sendable (LoadBundleProgress) -> Void,
        completion: @escaping @Sendable (Result<LoadBundleProgress, LarderError>) -> Void
    ) {
        let refuse: @Sendable (LarderError) -> Void = { error in
            var failed = LoadBundleProgress()
            failed.state = .error
            progress(failed)
            completion(.failure(error))
        }
        let isLocal = isLocal
        perform(
            { engine in
                if isLocal { return refuse(.noBundles) }
                engine.loadBundle(from: source, progress, completion)
            }, otherwise: { refuse(Self.terminated) })
    }

    /// The named query of a bundle; nil if unknown.
    package func namedQuery(_ name: String) throws(LarderError) -> NamedQuery? {
        try checkOpen()
        return try engine.localStore.namedQuery(name)
    }
}

extension LarderError {
    fileprivate static var noBundles: LarderError {
        LarderError(
            .failedPrecondition,
            "The database is local, and a bundle has documents of a backend; 'larder import' imports "
                + "documents.")
    }
}
