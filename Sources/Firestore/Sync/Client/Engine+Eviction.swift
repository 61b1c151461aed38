import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery

extension Engine {
    /// Evicts documents that nothing needs, for a cache that is to hold no others; and those that
    /// cache rules do not keep.
    func collect() {
        do throws(LarderError) {
            if configuration.collectsEagerly {
                while try store.evict(toBytes: 0).hasMore {}
            } else if cacheRules.evicts, mayEvict, try store.evict().hasMore {
                _ = add(.perform { $0.collect() })
            }
        } catch {
            log("cannot collect documents: \(error)")
        }
    }

    /// True if this client evicts; of the clients of a shared store only the primary does, which
    /// knows the targets in use.
    private var mayEvict: Bool {
        !isTerminated && isPrimary && configuration.storage.access != .readOnly
            && configuration.storage.evictsAutomatically
    }

    func collectGarbage(threshold: Int64, _ completion: Completion) {
        completion(
            Result { () throws(LarderError) in
                // A local database has nothing to fetch its documents from again.
                if cacheRules.isLocal { return }
                let size = try store.read { (transaction) throws(LarderError) in
                    try transaction.statistics().totalBytes
                }
                guard size >= threshold else { return }
                while try store.evict(toBytes: 0).hasMore {}
            })
    }

    func evict(
        _ query: Query, _ completion: @Sendable (Result<EvictionSummary, LarderError>) -> Void
    ) {
        do throws(LarderError) {
            let documents = try store.read { (transaction) throws(LarderError) in
                try runner.run(query, in: transaction).documents
            }
            let rules = cacheRules
            let evictable = documents.filter { !rules.isLocalOnly($0.path) }
            let evicted = try localStore.evict(evictable)
            show(evicted.changes, forgetting: evicted.targetIDs)
            completion(
                .success(
                    EvictionSummary(
                        documentCount: evicted.changes.count, freedBytes: evicted.freedBytes,
                        keptCount: evicted.keptCount + documents.count - evictable.count)))
        } catch {
            completion(.failure(error))
        }
    }

    /// Shows evicted documents to the views, and listens again to their targets.
    func show(_ changes: [LocalChange] = [], forgetting targetIDs: [Int32]) {
        finish(views.apply(changes, targets: forget(targetIDs), refill: refill))
        for id in targetIDs { listenAgain(id) }
    }
}
