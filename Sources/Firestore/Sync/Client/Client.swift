package import LarderDocumentStore
package import LarderModel
import LarderPlanning
import LarderQuery
import LarderRuntime

/// A database as one application sees it: cached documents with pending writes.
///
/// Reads run on the caller's thread against the newest commit, without waiting. Writes and
/// listeners are served on one serial queue, where waiting writes share a commit. Thread-safe; only
/// ``init(_:store:)`` and reads block.
///
/// Without a remote the client is offline: writes stay pending, snapshots come from the cache; or it
/// is local: what it commits is final, and it has all documents that there are.
package final class Client: Sendable {
    package let databaseID: DatabaseID

    let store: Store
    let clock: @Sendable () -> Timestamp
    let inbox = Engine.Requests()
    let engine: Engine
    private let hasBudget: Bool
    /// True if documents are evicted, so that their use is noted.
    var mayEvict: Bool { hasBudget || engine.evictsByRules }
    /// True for a local database: it has no backend, and a local commit is final.
    package let isLocal: Bool

    /// Opens a client, and creates its store unless the configuration forbids it.
    ///
    /// Blocks for the disk.
    ///
    /// - Parameters:
    ///   - store: a store that several clients of this process share, which is not closed with the
    ///     client; nil to open that of the configuration.
    /// - Throws: as ``LarderStorage/Store/init(_:)``, and as ``StoreClaim/init(_:_:)``.
    package init(
        _ configuration: ClientConfiguration, store shared: Store? = nil
    ) throws(LarderError) {
        let store: Store
        if let shared { store = shared } else { store = try Store(configuration.ownStorage) }
        let claim = try StoreClaim(configuration, store)
        let configuration = claim.configuration
        let journal = try SharedJournal(configuration, directory: store.directory)
        self.store = store
        isLocal = claim.isLocal
        databaseID = configuration.databaseID
        hasBudget = configuration.storage.budget != .unlimited && !claim.isLocal
        clock = configuration.clock
        engine = try Engine(
            store, Session(store, configuration, journal), configuration,
            CacheRules(configuration, isLocal: claim.isLocal, in: store), inbox, journal: journal,
            ownsStore: shared == nil)
        engine.start()
    }

    /// True after ``terminate(_:)`` was called, or the store was closed.
    package var isTerminated: Bool { inbox.hasEnded }

    func checkOpen() throws(LarderError) {
        if isTerminated { throw Self.terminated }
    }

    static let terminated = LarderError(
        .failedPrecondition, "The client has already been terminated.")

    /// Passes a request to the engine; calls the other closure if the client is terminated.
    func perform(
        _ body: @escaping @Sendable (isolated Engine) -> Void, otherwise: () -> Void = {}
    ) {
        if !engine.add(.perform(body)) { otherwise() }
    }

    /// Ends the client: waiting requests fail, listeners receive nothing more, and the store is
    /// closed after the present reads, unless it is shared.
    ///
    /// Pending writes stay in the store. A second call completes when the client has ended, too.
    package func terminate(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        inbox.end()
        perform({ $0.terminate(completion) }, otherwise: { engine.afterEnd(completion) })
    }
}

/// The registration of a closure, until ``remove()`` is called; releasing it does not remove it.
package final class ClientRegistration: Sendable {
    private let work: ScheduledWork

    init(_ remove: @escaping @Sendable () -> Void) {
        work = ScheduledWork(remove)
    }

    /// Ends the registration; idempotent.
    ///
    /// A delivery in progress on another thread may still arrive.
    package func remove() {
        work.perform()
    }
}
