import LarderCore
import LarderRealtimeModel
import LarderRealtimeSync
import LarderStorage
import Logging

extension Database {
    /// The content and size of a database's store as of one commit, and what is in use; sizes are
    /// in bytes.
    public struct Usage: Hashable, Sendable {
        /// The size of all stored data, which is compared with the cache size; 0 without a store.
        public let totalBytes: Int64
        /// The cache size; nil if it is unlimited or there is no store.
        public let limitBytes: Int64?
        /// The size of the tree and of tracked queries; pending and refused writes are not in it.
        public let treeBytes: Int64
        /// The size of the store's file.
        public let fileBytes: Int64
        /// The free space in the file, which will be reused.
        public let freeBytes: Int64
        /// The number of queries whose data is cached.
        public let trackedQueryCount: Int
        /// The number of observers.
        public let observerCount: Int
        /// The number of pending writes and transactions.
        public let pendingWriteCount: Int
        /// The number of dead letters.
        public let deadLetterCount: Int

        init(_ usage: DatabaseUsage) {
            totalBytes = usage.store?.totalBytes ?? 0
            limitBytes = usage.store?.budgetBytes
            treeBytes = usage.store?.nodes.sizeBytes ?? 0
            fileBytes = usage.store?.fileBytes ?? 0
            freeBytes = usage.store?.freeBytes ?? 0
            trackedQueryCount = usage.trackedQueryCount
            observerCount = usage.listenerCount
            pendingWriteCount = usage.pendingWriteCount
            deadLetterCount = usage.deadWriteCount
        }
    }

    /// The content and size of the store, and what is in use.
    ///
    /// - Throws: `failedPrecondition` for a closed database; errors of the store.
    public nonisolated(nonsending) func usage() async throws(DatabaseError) -> Usage {
        Usage(try await ask { $0.usage(completion: $1) })
    }

    /// The result of an eviction.
    public struct EvictionReport: Hashable, Sendable {
        /// The number of queries whose data was removed from the cache.
        public let evictedQueryCount: Int
        /// The freed size in bytes.
        public let freedBytes: Int64
    }

    /// Removes data that no observer, `keepSynced`, pin or pending write needs from the cache,
    /// least recently used first.
    ///
    /// The data at the server is not affected; it is cached again when it is observed.
    ///
    /// - Parameter goal: the size of the store to reach, in bytes; 0 to remove all that can be.
    /// - Throws: `failedPrecondition` for a closed database, or if another process keeps the cache
    ///   of a shared directory; errors of the store.
    @discardableResult
    public nonisolated(nonsending) func evict(
        toBytes goal: Int64 = 0
    ) async throws(DatabaseError) -> EvictionReport {
        let eviction = try await ask { $0.evict(toBytes: max(goal, 0), completion: $1) }
        return EvictionReport(
            evictedQueryCount: eviction.queryCount, freedBytes: eviction.freedBytes)
    }
}

/// Keeps cached data from eviction until it is removed; stays active if this object is
/// deallocated.
public final class DatabasePin: Sendable {
    private let release: @Sendable () -> Void

    init(_ release: @escaping @Sendable () -> Void) {
        self.release = release
    }

    /// Lets the data be evicted again; a second call has no effect.
    public func remove() {
        release()
    }
}

extension DatabaseReference {
    /// Keeps the cached data of the location from eviction, without keeping it up to date, until
    /// the pin is removed or the database is closed.
    ///
    /// A reference with an invalid path is logged and has no effect. Of several processes that share
    /// a directory, the pin works in the one that keeps the cache. See
    /// ``DatabaseQuery/keepSynced(_:)`` for data that is to be up to date.
    public func pin() -> DatabasePin {
        do throws(LarderError) {
            return DatabasePin(try owner.connection.client().pin(try path.get()))
        } catch {
            owner.logger.error("pin() failed: \(error.message)")
            return DatabasePin {}
        }
    }
}
