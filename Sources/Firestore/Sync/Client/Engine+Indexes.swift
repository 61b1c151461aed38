import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery

/// The indexes of a store: their maintenance, in bounded steps, and those made automatically.
struct Indexing: Sendable {
    let maintenance: IndexMaintenance
    let automatic: AutomaticIndexes

    init(_ store: Store, makesIndexes: Bool) throws(LarderError) {
        maintenance = IndexMaintenance(store: store)
        automatic = try AutomaticIndexes(store: store)
        if makesIndexes { try automatic.enable() }
    }
}

extension Engine {
    func configureIndexes(_ configuration: IndexConfiguration, _ completion: Completion) {
        completion(
            Result { () throws(LarderError) in
                try indexing.maintenance.configure(configuration)
            })
        maintain()
    }

    /// Notes a query that ran: queries that scan much and find little get an index.
    nonisolated func noteRun(of query: Query, _ execution: QueryExecution) {
        let isScan = execution.kind == .collectionScan || execution.kind == .groupScan
        guard indexing.automatic.isEnabled, isScan else { return }
        _ = add(.perform { $0.makeIndexes(for: query, after: execution) })
    }

    private func makeIndexes(for query: Query, after execution: QueryExecution) {
        do throws(LarderError) {
            let missing = try store.read { (transaction) throws(LarderError) in
                try runner.missingIndexes(for: query, after: execution, in: transaction)
            }
            guard !missing.isEmpty else { return }
            try indexing.maintenance.add(missing)
            maintain()
        } catch {
            // Repeated after the next scan of the kind.
            log("cannot make an index: \(error)")
        }
    }

    /// Begins bounded steps of background work, between which requests are served.
    func maintain() {
        guard maintenanceWaiters == nil, !isTerminated else { return }
        maintenanceWaiters = []
        scheduleStep()
    }

    private func scheduleStep() {
        scheduler.run { self.assumeIsolated { $0.step() } }
    }

    private func step() {
        guard !isTerminated else { return }
        do throws(LarderError) {
            if try indexing.maintenance.step().isComplete {
                finishMaintenance(.success(()))
            } else {
                scheduleStep()
            }
        } catch {
            finishMaintenance(.failure(error))
        }
    }

    func finishMaintenance(_ result: Result<Void, LarderError>) {
        let waiters = maintenanceWaiters ?? []
        maintenanceWaiters = nil
        for waiter in waiters { waiter(result) }
    }

    /// Calls the closure when no background work is left.
    func waitForIndexes(_ completion: @escaping Completion) {
        guard !isTerminated else { return completion(.failure(Client.terminated)) }
        maintain()
        maintenanceWaiters?.append(completion)
    }
}
