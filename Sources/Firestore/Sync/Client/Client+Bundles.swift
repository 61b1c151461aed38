package import LarderModel

extension Client {
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
