package import LarderCore
package import LarderRealtimeModel
import LarderRealtimeRemote
package import LarderRealtimeStore
package import LarderRuntime
package import LarderStorage
import Synchronization

/// A Realtime Database on a local store, synchronised with a server.
///
/// Calls come from any thread and return at once; completions and deliveries are called on the
/// engine's executor. Requests of one thread are served in their order.
package final class DatabaseClient: Sendable {
    private let engine: DatabaseEngine

    /// Opens the store and starts the engine.
    ///
    /// Blocks on disk I/O.
    ///
    /// - Parameter store: an open store that the client uses and leaves open; nil to open that of
    ///   the configuration.
    package init(
        _ configuration: DatabaseClientConfiguration, store: Store? = nil
    ) throws(LarderError) {
        engine = try DatabaseEngine(configuration, store: store)
        engine.start()
    }

    deinit {
        terminate { _ in }
    }

    static let terminated = LarderError(
        realtime: .failedPrecondition, "The database has been closed.")

    /// True once ``terminate(_:)`` was called.
    package var isTerminated: Bool { engine.inbox.hasEnded }

    /// The estimated difference of the server's clock from the local one.
    package var serverTimeOffset: Duration { engine.serverTimeOffset }

    /// Reachability of the server.
    package var networkState: NetworkState { engine.networkState }

    private func perform(
        _ body: @escaping @Sendable (isolated DatabaseEngine) -> Void, otherwise: () -> Void = {}
    ) {
        if !engine.add(.perform(body)) { otherwise() }
    }

    /// Ends the client: requests that wait are refused, listeners receive nothing more, and the
    /// store is closed.
    ///
    /// Pending writes stay in the store. A second call completes when the client has ended, too.
    package func terminate(_ completion: @escaping Completion<Void>) {
        engine.inbox.end()
        perform({ $0.terminate(completion) }, otherwise: { engine.afterEnd(completion) })
    }
}

// MARK: - Listening

extension DatabaseClient {
    /// Adds a listener; nothing is delivered once an error was.
    package func listen(
        to query: QuerySpec, _ listener: Listener,
        _ deliver: @escaping @Sendable (TreeEvent) -> Void
    ) {
        perform(
            { $0.listen(to: query, listener, deliver) },
            otherwise: { deliver(.ending(listener.id, query, Self.terminated)) })
    }

    /// Removes a listener.
    package func removeListener(_ id: ListenerID, from query: QuerySpec) {
        perform { $0.removeListener(id, from: query) }
    }

    /// Keeps a query's data up to date and in the cache without a listener, or ends that.
    package func keepSynced(_ query: QuerySpec, _ isKept: Bool) {
        perform { $0.keepSynced(query, isKept) }
    }

    /// Reads a query's data once.
    package func get(_ query: QuerySpec, completion: @escaping Completion<GetAnswer>) {
        perform(
            { $0.get(query, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }
}

extension TreeEvent {
    /// The end of a listener that was never added, or is ended by the client.
    package static func ending(
        _ listener: ListenerID, _ query: QuerySpec, _ error: LarderError
    ) -> TreeEvent {
        TreeEvent(
            listener: listener, query: query, change: .cancelled(error),
            metadata: TreeEventMetadata(
                isComplete: false, hasPendingWrites: false, isFromCache: true))
    }
}

// MARK: - Writing

/// A write as an application requests it.
package enum WriteRequest: Sendable {
    /// Replaces a node.
    case overwrite(TreePath, Node)
    /// Replaces several nodes below a location, all or none.
    case merge(TreePath, [PathValue])

    /// True if the request changes nothing.
    package var isEmpty: Bool {
        if case .merge(_, let values) = self { values.isEmpty } else { false }
    }
}

/// An operation for the end of the connection, as an application requests it.
package enum DisconnectOperation: Sendable {
    /// Replaces a node.
    case put(TreePath, Node)
    /// Replaces several nodes below a location.
    case merge(TreePath, [PathValue])
    /// Cancels the operations at a location and below it.
    case cancel(TreePath)
}

/// Computes a transaction's output from the data that it finds; nil to abort.
package typealias TransactionUpdate = @Sendable (Node) throws(LarderError) -> Node?

/// How a transaction has ended.
package struct TransactionOutcome: Sendable {
    /// True if the server has accepted the output.
    package let isCommitted: Bool
    /// The output, or the data that the transaction has found.
    package let node: Node

    package init(isCommitted: Bool, node: Node) {
        self.isCommitted = isCommitted
        self.node = node
    }
}

extension DatabaseClient {
    /// Applies a write.
    ///
    /// - Parameters:
    ///   - deadWrite: a refused write that is forgotten in the same commit.
    ///   - committed: called with the write's number when it is durable, nil for one of local-only
    ///     locations, which is not queued; or with the reason why nothing was written.
    ///   - acknowledged: called when the server has answered, if the write was committed.
    package func write(
        _ request: WriteRequest, insteadOf deadWrite: WriteID? = nil,
        committed: @escaping Completion<WriteID?>, acknowledged: @escaping Completion<Void>
    ) {
        perform(
            {
                $0.write(
                    request, insteadOf: deadWrite, committed: committed,
                    acknowledged: acknowledged)
            },
            otherwise: { committed(.failure(Self.terminated)) })
    }

    /// Records an operation for the end of the connection.
    package func arm(_ operation: DisconnectOperation, completion: @escaping Completion<Void>) {
        perform(
            { $0.arm(operation, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Runs a transaction.
    package func runTransaction(
        at path: TreePath, localEvents: Bool, _ update: @escaping TransactionUpdate,
        completion: @escaping Completion<TransactionOutcome>
    ) {
        perform(
            { $0.runTransaction(at: path, localEvents: localEvents, update, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Registers the update of the transactions that an earlier run has left at a location.
    package func resumeTransactions(at path: TreePath, _ update: @escaping TransactionUpdate) {
        perform { $0.resumeTransactions(at: path, update) }
    }

    /// Cancels every pending write, transaction and operation for the end of the connection.
    package func purgeOutstandingWrites() {
        perform { $0.purgeOutstandingWrites() }
    }
}

// MARK: - The outbox

/// A write that the server has not answered, as the application sees it.
package struct QueuedWrite: Sendable {
    package let id: WriteID
    package let request: WriteRequest
    package let isTransaction: Bool
    /// When it was made, by the local clock.
    package let time: Timestamp
    /// True if it was sent on the present connection.
    package let isSent: Bool
}

extension DatabaseClient {
    /// The writes that the server has not answered, in order.
    package func pendingWrites(completion: @escaping Completion<[QueuedWrite]>) {
        perform(
            { $0.pendingWrites(completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Delivers the unanswered writes now and after each change, until the closure that this
    /// returns is called.
    package func observePendingWrites(
        _ deliver: @escaping @Sendable ([QueuedWrite]) -> Void
    ) -> @Sendable () -> Void {
        let id = engine.newID()
        perform { $0.addPendingObserver(id, deliver) }
        return { [weak self] in self?.perform { $0.pendingObservers.remove(id) } }
    }

    /// Cancels a write that was not sent; completes with false if it was.
    package func cancelWrite(_ id: WriteID, completion: @escaping Completion<Bool>) {
        perform(
            { $0.cancelWrite(id, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// The refused writes, in order.
    package func deadWrites(completion: @escaping Completion<[DeadWrite]>) {
        perform(
            { $0.deadWrites(completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Delivers the refused writes now and after each change, until the closure that this returns
    /// is called.
    package func observeDeadWrites(
        _ deliver: @escaping @Sendable ([DeadWrite]) -> Void
    ) -> @Sendable () -> Void {
        let id = engine.newID()
        perform { $0.addDeadObserver(id, deliver) }
        return { [weak self] in self?.perform { $0.deadObservers.remove(id) } }
    }

    /// Forgets a refused write; completes with false if there is none.
    package func discardDeadWrite(_ id: WriteID, completion: @escaping Completion<Bool>) {
        perform(
            { $0.discardDeadWrite(id, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }
}

// MARK: - The cache

extension DatabaseClient {
    /// Counts of the client's data.
    package func usage(completion: @escaping Completion<DatabaseUsage>) {
        perform(
            { $0.usage(completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// How far a query's data is known, and since when.
    package func freshness(
        of query: QuerySpec, completion: @escaping Completion<QueryFreshness>
    ) {
        perform(
            { $0.freshness(of: query, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Evicts data that nothing needs, least recently used first, down to a size.
    package func evict(toBytes goal: Int64, completion: @escaping Completion<DatabaseEviction>) {
        perform(
            { $0.evict(toBytes: goal, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Replaces the cache rules, and evicts what they do not keep.
    package func setCacheRules(_ rules: TreeCacheRules, completion: @escaping Completion<Void>) {
        perform(
            { $0.setCacheRules(rules, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// The cache rules in their order, with what is cached by each.
    package func cacheRuleUsage(completion: @escaping Completion<[TreeCacheRuleUsage]>) {
        perform(
            { $0.cacheRuleUsage(completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Keeps a location from eviction until the closure that this returns is called.
    package func pin(_ path: TreePath) -> @Sendable () -> Void {
        perform { $0.setPinned(true, path) }
        let work = ScheduledWork { [weak self] in
            self?.perform { $0.setPinned(false, path) }
        }
        return { work.perform() }
    }
}

// MARK: - The network

extension DatabaseClient {
    /// Uses the network again, at once.
    package func goOnline() {
        perform { $0.goOnline() }
    }

    /// Stops using the network.
    package func goOffline() {
        perform { $0.goOffline() }
    }

    /// Connects now instead of waiting for the next attempt.
    package func reconnect() {
        perform { $0.reconnect() }
    }

    /// The user has signed in, out or again: the token is fetched and sent.
    package func tokenChanged() {
        perform { $0.tokenChanged() }
    }

    /// Delivers the network state now and after each change, until the closure that this returns
    /// is called.
    package func observeNetworkState(
        _ deliver: @escaping @Sendable (NetworkState) -> Void
    ) -> @Sendable () -> Void {
        let id = engine.newID()
        perform {
            $0.networkObservers.add(id, deliver); deliver($0.networkState)
        }
        return { [weak self] in self?.perform { $0.networkObservers.remove(id) } }
    }
}
