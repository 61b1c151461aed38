package import LarderModel
import LarderQuery
import LarderStorage
import Synchronization

/// A database as one application sees it: documents with pending writes over them, in a store.
///
/// Reads run on the caller's thread, on the newest commit, and wait for nobody. Writes and
/// listeners go through one serial queue, where every write that waits goes into one commit. Any
/// thread may call; no call but ``init(_:)`` and the reads blocks.
///
/// Without a remote the client is as one that is offline: writes stay pending, snapshots come
/// from the cache.
package final class Client: Sendable {
    /// The database that references name.
    package let databaseID: DatabaseID

    let store: Store
    let runner: QueryRunner
    let clock: @Sendable () -> Timestamp
    let inbox = Inbox()
    let engine: Engine
    let mayEvict: Bool
    private let hasEnded = Atomic<Bool>(false)

    /// Opens a client; the store is made where there is none, unless the configuration says
    /// otherwise.
    ///
    /// Blocks for the disk.
    ///
    /// - Throws: as ``LarderStorage/Store/init(_:)``.
    package init(_ configuration: ClientConfiguration) throws(LarderError) {
        let store = try Store(configuration.storage)
        self.store = store
        databaseID = configuration.databaseID
        mayEvict = configuration.storage.budget != .unlimited
        clock = configuration.clock
        runner = QueryRunner(
            user: configuration.user, databaseID: configuration.databaseID, indexes: IndexCatalog())
        engine = try Engine(
            LocalStore(
                store: store, user: configuration.user, databaseID: configuration.databaseID),
            configuration, runner, inbox)
        engine.start(configuration.storage.access)
    }

    /// Whether ``terminate(_:)`` was called.
    package var isTerminated: Bool { hasEnded.load(ordering: .acquiring) }

    /// Throws once the client is terminated.
    func checkOpen() throws(LarderError) {
        if isTerminated { throw Self.terminated }
    }

    static let terminated = LarderError(
        .failedPrecondition, "The client has already been terminated.")

    /// Hands a request to the engine; when the client is terminated, calls the other closure.
    func perform(
        _ body: @escaping @Sendable (isolated Engine) -> Void, otherwise: () -> Void = {}
    ) {
        if !engine.add(.perform(body)) { otherwise() }
    }

    /// Ends the client: requests that wait are refused, listeners hear nothing more, and the
    /// store is closed once the reads that are under way have ended.
    ///
    /// Pending writes stay in the store. Calling it again does nothing but complete.
    package func terminate(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        hasEnded.store(true, ordering: .releasing)
        perform({ $0.terminate(completion) }, otherwise: { completion(.success(())) })
    }
}
