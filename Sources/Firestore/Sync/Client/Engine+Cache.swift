import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery

extension Engine {
    func collectGarbage(threshold: Int64, _ completion: Completion) {
        completion(
            Result { () throws(LarderError) in
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
            let evicted = try localStore.evict(documents)
            tell(evicted)
            completion(
                .success(
                    EvictionSummary(
                        documentCount: evicted.changes.count, freedBytes: evicted.freedBytes,
                        keptCount: evicted.keptCount)))
        } catch {
            completion(.failure(error))
        }
    }

    /// Shows the views what has gone, and asks the backend anew for the targets that held some
    /// of it.
    private func tell(_ evicted: Evicted) {
        finish(
            views.apply(
                evicted.changes, targets: forget(evicted.targetIDs), refill: refill))
        for id in evicted.targetIDs { listenAgain(id) }
    }

    /// Another client has evicted documents that targets held.
    func hearForgotten(_ ids: [Int32]) {
        guard !ids.isEmpty else { return }
        finish(views.apply([], targets: forget(ids), refill: refill))
        for id in ids { listenAgain(id) }
    }

    /// Forgets what the backend has said of targets, as the store has.
    ///
    /// - Returns: what that means to their views.
    private func forget(_ ids: [Int32]) -> [ViewID: ViewTargetChange] {
        var changes: [ViewID: ViewTargetChange] = [:]
        for id in ids where targets[id] != nil {
            let keys = Array(remoteKeys(of: id))
            for view in targets.views(of: id) { changes[view] = ViewTargetChange(removed: keys) }
            targets.forgetContents(of: id)
        }
        return changes
    }
}
