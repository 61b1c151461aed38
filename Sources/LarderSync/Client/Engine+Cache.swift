import LarderModel
import LarderQuery
import LarderStorage

extension Engine {
    func evict(
        _ query: Query, _ completion: @Sendable (Result<EvictionSummary, LarderError>) -> Void
    ) {
        do throws(LarderError) {
            let store = localStore.store
            let documents = try store.read { (transaction) throws(LarderError) in
                try runner.run(query, in: transaction).documents
            }
            var (changes, kept, freed) = ([LocalViewChange](), 0, Int64(0))
            try store.write { (transaction) throws(LarderError) in
                let users = try transaction.usersWithMutations()
                for document in documents {
                    var isPending = false
                    for user in users where !isPending {
                        isPending = try !transaction.mutationBatchIDs(
                            touching: document.path, of: user
                        ).isEmpty
                    }
                    if isPending {
                        kept += 1
                        continue
                    }
                    try transaction.remove(document.path)
                    freed += document.storedBytes
                    changes.append(
                        LocalViewChange(path: document.path, before: document, after: nil))
                }
            }
            apply(changes)
            completion(
                .success(
                    EvictionSummary(
                        documentCount: changes.count, freedBytes: freed, keptCount: kept)))
        } catch {
            completion(.failure(error))
        }
    }
}
