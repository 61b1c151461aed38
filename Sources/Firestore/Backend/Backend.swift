public import LarderModel
package import LarderQuery
public import LarderRemote

/// A Firestore backend in this process: documents with versions and preconditions, transforms,
/// atomic commits, transactions, and streams that tell of changes.
///
/// Clients are configured with its ``connection``. In memory it is what tests run against; in a
/// directory it keeps its documents, and clients go on where they were after it was closed and
/// opened again.
///
/// Any thread may call. Commits and streams are served one after the other on a queue of the
/// backend's own; what reads here says where it runs.
public final class Backend: Sendable {
    let core: BackendCore

    /// Opens a backend; its directory is made where there is none.
    ///
    /// Blocks for the disk.
    ///
    /// - Throws: `failedPrecondition` while this or another process has the directory open;
    ///   `dataLoss` for damaged files; `permissionDenied`, `unavailable` or `resourceExhausted`
    ///   from the system.
    public init(_ configuration: BackendConfiguration) throws(LarderError) {
        core = try BackendCore(configuration)
    }

    /// What clients are configured with; any number of them may use it.
    public var connection: RemoteConnection { RemoteConnection(self) }

    /// Ends all streams, refuses what comes later with `unavailable`, and closes the files once
    /// reads that are under way have ended.
    ///
    /// A second call does nothing but wait.
    public func close() async throws(LarderError) {
        let result = await withCheckedContinuation { continuation in
            close { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    /// As ``close()``, unless there are streams, transactions or commits under way.
    ///
    /// - Parameter completion: told whether it is closed.
    package func closeIfUnused(
        _ completion: @escaping @Sendable (Result<Bool, LarderError>) -> Void
    ) {
        core.perform { core in
            guard core.isUnused else { return completion(.success(false)) }
            core.close { completion($0.map { true }) }
        }
    }

    /// As ``close()``; returns at once.
    package func close(_ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void) {
        core.perform { $0.close(completion) }
    }
}

// MARK: - Remote

extension Backend: Remote {
    /// As many as a commit is worth making for.
    package var writePipelineDepth: Int { 1_000 }

    package func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream {
        serveWatchStream(as: credentials, handler)
    }

    package func openWriteStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) -> any WriteStream {
        let handle = StreamHandle(core)
        handle.perform { core, id in
            core.openWriteStream(id, as: credentials) { [weak handle] in
                if handle?.isOpen == true { handler($0) }
            }
        }
        return WriteConnection(handle)
    }

    package func read(
        _ paths: [DocumentPath], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void
    ) {
        core.answer(completion) { core throws(LarderError) in
            try core.documents(at: paths, as: credentials, in: nil).readings
        }
    }

    package func commit(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) {
        core.perform { core in
            core.commit(
                CommitRequest(mutations: mutations, rulesCheck: core.rulesCheck(credentials)) {
                    completion($0.map(\.response))
                })
        }
    }

    package func aggregate(
        _ aggregates: [Aggregate], over target: QueryTarget, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void
    ) {
        core.answer(completion) { core throws(LarderError) in
            try core.aggregate(aggregates, over: target.query, as: credentials, in: nil).values
        }
    }

    /// Does nothing: there are no tokens of access.
    package func invalidateToken() {}
}
