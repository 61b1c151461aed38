public import LarderModel
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
