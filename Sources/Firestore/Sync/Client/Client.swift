package import LarderDocumentStore
package import LarderModel
import LarderPlanning
import LarderQuery
import LarderRuntime

/// A database as one application sees it: documents with pending writes over them, in a store.
///
/// Reads run on the caller's thread, on the newest commit, and wait for nobody. Writes and
/// listeners go through one serial queue, where every write that waits goes into one commit. Any
/// thread may call; no call but ``init(_:store:)`` and the reads blocks.
///
/// Without a remote the client is as one that is offline: writes stay pending, snapshots come
/// from the cache.
package final class Client: Sendable {
    /// The database that references name.
    package let databaseID: DatabaseID

    let store: Store
    let clock: @Sendable () -> Timestamp
    let inbox = Engine.Requests()
    let engine: Engine
    let mayEvict: Bool

    /// Opens a client; the store is made where there is none, unless the configuration says
    /// otherwise.
    ///
    /// Blocks for the disk.
    ///
    /// - Parameters:
    ///   - configuration: how it is opened.
    ///   - store: the store, where several clients of this process share one; it is not closed
    ///     with the client. Nil to open that of the configuration.
    /// - Throws: as ``LarderStorage/Store/init(_:)``.
    package init(
        _ configuration: ClientConfiguration, store shared: Store? = nil
    ) throws(LarderError) {
        let store: Store
        if let shared { store = shared } else { store = try Store(configuration.ownStorage) }
        let journal = try Journal(configuration, directory: store.directory)
        self.store = store
        databaseID = configuration.databaseID
        mayEvict = configuration.storage.budget != .unlimited
        clock = configuration.clock
        engine = try Engine(
            store, Session(store, configuration, journal), configuration, inbox, journal: journal,
            ownsStore: shared == nil)
        engine.start()
    }

    /// Whether the client has ended: ``terminate(_:)`` was called, or its store was closed under
    /// it.
    package var isTerminated: Bool { inbox.hasEnded }

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
    /// store is closed once the reads that are under way have ended, unless it was given.
    ///
    /// Pending writes stay in the store. Calling it again does nothing but complete.
    package func terminate(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        inbox.end()
        perform({ $0.terminate(completion) }, otherwise: { completion(.success(())) })
    }
}

/// Something that a client calls until it is removed; letting go of this does not remove it.
package final class ClientRegistration: Sendable {
    private let work: ScheduledWork

    init(_ remove: @escaping @Sendable () -> Void) {
        work = ScheduledWork(remove)
    }

    /// Ends it; a second call does nothing.
    ///
    /// What is being delivered on another thread at this moment may still arrive there.
    package func remove() {
        work.perform()
    }
}
