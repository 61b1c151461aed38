import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderRuntime
package import LarderStorage

/// The result of an eviction.
package struct DatabaseEviction: Sendable {
    /// The queries that were forgotten, with the data that no other query needs.
    package let queryCount: Int
    /// The freed size in bytes.
    package let freedBytes: Int64
}

/// Counts of a client's data, in memory and on disk.
package struct DatabaseUsage: Sendable {
    /// The store; nil for a database without one.
    package let store: StoreStatistics?
    package let listenerCount: Int
    package let pendingWriteCount: Int
    package let deadWriteCount: Int
    package let trackedQueryCount: Int
}

/// How far a query's data is known, and since when.
package struct QueryFreshness: Sendable {
    /// True if all of the data is known.
    package let isComplete: Bool
    /// True if the server keeps the data up to date, or the location is local only.
    package let isCurrent: Bool
    /// When the server has last confirmed the data, in milliseconds since the Unix epoch by the
    /// local clock; nil if that is not known.
    package let confirmed: Int64?
}

extension DatabaseEngine {
    /// The server has confirmed a query's data until now.
    func noteConfirmed(_ query: QuerySpec) {
        let now = tree.now
        tree.stored?.confirm(query, now: now)
    }

    func freshness(of query: QuerySpec, _ completion: @escaping Completion<QueryFreshness>) {
        guard !isTerminated else { return completion(.failure(DatabaseClient.terminated)) }
        if isLocalOnly(query.path) {
            let freshness = QueryFreshness(isComplete: true, isCurrent: true, confirmed: tree.now)
            return call(later: { completion(.success(freshness)) })
        }
        forgetEvicted()
        let isCurrent = tree.isCurrent(query)
        let freshness = QueryFreshness(
            isComplete: tree.knownValue(of: query)?.isComplete ?? isStored(query),
            isCurrent: isCurrent,
            confirmed: isCurrent ? tree.now : tree.stored?.tracked.confirmation(of: query))
        call(later: { completion(.success(freshness)) })
    }

    /// True if all of a query's data is known without listeners.
    ///
    /// Complexity: O(1), or the size of a window that has pending writes.
    private func isStored(_ query: QuerySpec) -> Bool {
        guard tree.stored?.tracked.isComplete(query) == true else { return false }
        if query.loadsAllData || !tree.hasPendingWrites(at: query.path) { return true }
        return (try? tree.storedValue(of: query))?.isComplete == true
    }

    /// Forgets queries that are evicted before they take much memory.
    ///
    /// Reading what is left costs as much as there is, so it is done when many commits have
    /// evicted something, and in any case before a query is answered from the cache.
    func forgetEvictedInTime() {
        if disk.evictingCommitCount > 64 + (tree.stored?.tracked.count ?? 0) / 16 {
            forgetEvicted()
        }
    }

    /// The queries whose data was evicted are not known any more.
    func forgetEvicted() {
        if disk.isReader { return readCache() }
        do throws(LarderError) {
            guard let left = try disk.queriesAfterEviction() else { return }
            for query in tree.stored?.tracked.all ?? [] where !left.contains(query.id) {
                tree.stored?.evicted(query.query)
            }
        } catch {
            log("the queries that are left after an eviction cannot be read: \(error.message)")
        }
    }

    /// Evicts data that nothing needs, least recently used first, down to a size.
    func evict(toBytes goal: Int64, _ completion: @escaping Completion<DatabaseEviction>) {
        guard !isTerminated else { return completion(.failure(DatabaseClient.terminated)) }
        guard !disk.isReader else {
            return completion(
                .failure(
                    LarderError(
                        realtime: .failedPrecondition,
                        "another process keeps the cache of the shared store; evict there")))
        }
        forgetEvicted()
        let queryCount = tree.stored?.tracked.count ?? 0
        let result = Result { () throws(LarderError) -> DatabaseEviction in
            // The records of this turn may be evicted, too.
            try disk.commit()
            let freedBytes = try disk.evict(toBytes: goal)
            forgetEvicted()
            let left = tree.stored?.tracked.count ?? 0
            return DatabaseEviction(queryCount: queryCount - left, freedBytes: freedBytes)
        }
        call(later: { completion(result) })
    }

    func usage(_ completion: @escaping Completion<DatabaseUsage>) {
        guard !isTerminated else { return completion(.failure(DatabaseClient.terminated)) }
        forgetEvicted()
        let result = Result { () throws(LarderError) -> DatabaseUsage in
            DatabaseUsage(
                store: try disk.store?.statistics(), listenerCount: listeners.count,
                pendingWriteCount: writes.count + transactionWork.count + foreign.count,
                deadWriteCount: disk.deadWrites.count,
                trackedQueryCount: tree.stored?.tracked.count ?? 0)
        }
        call(later: { completion(result) })
    }

    /// Keeps a location from eviction, or ends that.
    func setPinned(_ isPinned: Bool, _ path: TreePath) {
        guard !isTerminated, !isLocalOnly(path) else { return }
        do throws(LarderError) {
            try disk.setPinned(isPinned, path)
        } catch {
            log("\(path) cannot be \(isPinned ? "pinned" : "unpinned"): \(error.message)")
        }
    }
}
