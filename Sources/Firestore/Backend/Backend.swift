import LarderCore
import LarderDocumentStore
public import LarderModel
package import LarderQuery
public import LarderRemote

/// A Firestore backend in this process: versioned documents, preconditions, transforms, atomic
/// commits, transactions, and watch streams.
///
/// Clients are configured with its ``connection``. A backend in memory is suited for tests; a
/// backend in a directory is persistent, and clients resume after it was closed and reopened. After
/// the directory was put back to a copy, clients show the documents of the copy; update times of all
/// documents rise then.
///
/// Methods can be called from any thread. Commits and streams are served serially on the backend's
/// queue; methods that read document where they run.
public final class Backend: Sendable {
    let core: BackendCore

    /// Opens a backend, creating its directory if it does not exist.
    ///
    /// Blocks on disk I/O.
    ///
    /// - Throws: `failedPrecondition` if this or another process has the directory open; `dataLoss`
    ///   for damaged files; `permissionDenied`, `unavailable` or `resourceExhausted` for system
    ///   errors.
    public init(_ configuration: BackendConfiguration) throws(LarderError) {
        core = try BackendCore(configuration)
    }

    /// A backend for reads of another one's documents, with its own names and rules; only the other
    /// one is closed.
    package init(_ configuration: BackendConfiguration, readingStoreOf other: Backend)
        throws(LarderError)
    {
        core = try BackendCore(configuration, readingStoreOf: other.core)
    }

    /// The connection for the configuration of any number of clients.
    public var connection: RemoteConnection { RemoteConnection(self) }

    /// Ends all streams, rejects later requests with `unavailable`, and closes the files when reads
    /// in progress have ended.
    ///
    /// A second call only waits.
    public func close() async throws(LarderError) {
        let result = await withCheckedContinuation { continuation in
            close { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    /// Like ``close()``, unless there are streams, transactions or commits in progress.
    ///
    /// - Parameter completion: called with true if the backend was closed.
    package func closeIfUnused(
        _ completion: @escaping @Sendable (Result<Bool, LarderError>) -> Void
    ) {
        core.perform { core in
            guard core.isUnused else { return completion(.success(false)) }
            core.close { completion($0.map { true }) }
        }
    }

    /// Like ``close()``, if there are no documents and no transactions or commits in progress; ends
    /// watch streams with `unavailable`.
    ///
    /// - Parameter completion: called with true if the backend was closed.
    package func closeIfEmpty(
        _ completion: @escaping @Sendable (Result<Bool, LarderError>) -> Void
    ) {
        core.perform { core in
            guard core.isEmpty else { return completion(.success(false)) }
            core.close { completion($0.map { true }) }
        }
    }

    /// The maximum size of a document in bytes.
    package var maxDocumentBytes: Int64 { core.store.maxDocumentBytes }

    /// True if anything was written since the backend was opened.
    package var hasCommitted: Bool { core.hasCommitted.isSet }

    /// Like ``close()``; returns immediately.
    package func close(_ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void) {
        core.perform { $0.close(completion) }
    }
}

// MARK: - Remote

extension Backend: Remote {
    /// The number of writes that are worth a common commit.
    package var writePipelineDepth: Int { 1_000 }

    package func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream {
        serveWatchStream(as: credentials, nil, handler)
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
            try core.aggregate(
                aggregates, over: target.aggregatedQuery, as: credentials, in: nil
            ).values
        }
    }

    /// Has no effect: there are no access tokens.
    package func invalidateToken() {}
}
