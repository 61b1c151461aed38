import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery

extension Engine {
    func configureIndexes(_ configuration: IndexConfiguration, _ completion: Completion) {
        completion(Result { () throws(LarderError) in try maintenance.configure(configuration) })
        maintain()
    }

    func enableAutomaticIndexes(persistently: Bool, _ completion: Completion) {
        completion(
            Result { () throws(LarderError) in
                try automaticIndexes.enable(persistently: persistently)
            })
    }

    func disableAutomaticIndexes(_ completion: Completion) {
        completion(Result { () throws(LarderError) in try automaticIndexes.disable() })
    }

    /// Hears of every query that ran, to make indexes for those that scan much and find little.
    nonisolated func noteRun(of query: Query, _ execution: QueryExecution) {
        guard automaticIndexes.isEnabled, execution.isScan else { return }
        _ = add(.perform { $0.makeIndexes(for: query, after: execution) })
    }

    private func makeIndexes(for query: Query, after execution: QueryExecution) {
        do throws(LarderError) {
            let missing = try localStore.store.read { (transaction) throws(LarderError) in
                try runner.missingIndexes(for: query, after: execution, in: transaction)
            }
            guard !missing.isEmpty else { return }
            try maintenance.add(missing)
            maintain()
        } catch {
            // The next scan of the kind asks again.
            log("cannot make an index: \(error)")
        }
    }
}

extension QueryExecution {
    /// Whether documents of a whole collection or group were looked at.
    fileprivate var isScan: Bool { kind == .collectionScan || kind == .groupScan }
}
