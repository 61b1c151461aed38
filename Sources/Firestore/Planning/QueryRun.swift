import LarderDocumentStore
import LarderModel
import LarderQuery

/// One run of a plan: tests what the plan finds, and keeps what is wanted of it.
final class QueryRun {
    let user: UserID
    let arrangement: Arrangement
    let matcher: QueryMatcher
    let comparator: DocumentComparator
    var execution: QueryExecution

    init(_ query: Query, _ arrangement: Arrangement, _ choice: Planner.Choice, user: UserID)
        throws(LarderError)
    {
        self.user = user
        self.arrangement = arrangement
        // A plan looks nowhere else.
        matcher = try QueryMatcher(query, isSourceKnown: true)
        comparator = DocumentComparator(orders: arrangement.orders)
        execution = QueryExecution(choice)
    }

    /// The documents that a plan leads to and that match, in the wanted order, as many as are
    /// wanted.
    func documents<T: ReadableTransaction & ~Copyable>(
        of plan: QueryPlan, in transaction: borrowing T
    ) throws(LarderError) -> [Document] {
        var documents: [Document]
        switch plan {
        case .index(let scan) where scan.delivery.isComplete || scan.delivery.lacksNameOnly:
            documents = try ordered(scan, transaction)
        case .merge(let plans, _):
            documents = try merged(plans, transaction)
        default:
            if plan.delivery.isComplete {
                documents = try first(of: plan, transaction)
            } else if arrangement.limit != nil, plan.delivery.orderCount > 0 {
                documents = try merged([plan], transaction)
            } else {
                documents = try sorted(plan, transaction)
            }
        }
        if arrangement.isTurned { documents.reverse() }
        execution.documentsReturned = documents.count
        return documents
    }

    /// Lends every document that a plan leads to and that matches to a closure, in the plan's
    /// order, until it answers ``LarderModel/IterationStep/stop``.
    func forEachMatch<T: ReadableTransaction & ~Copyable>(
        of plan: QueryPlan, in transaction: borrowing T,
        _ body: (borrowing DocumentEntry) throws(LarderError) -> IterationStep
    ) throws(LarderError) {
        try forEachEntry(of: plan, in: transaction) { entry, isMatch throws(LarderError) in
            isMatch ? try body(entry) : .continue
        }
    }

    /// Lends every document that a plan leads to, and whether it matches.
    func forEachEntry<T: ReadableTransaction & ~Copyable>(
        of plan: QueryPlan, in transaction: borrowing T,
        _ body: (borrowing DocumentEntry, Bool) throws(LarderError) -> IterationStep
    ) throws(LarderError) {
        var isStopped = false
        var (scanned, bytes) = (0, Int64(0))
        func test(_ entry: borrowing DocumentEntry) throws(LarderError) -> IterationStep {
            scanned += 1
            bytes += entry.storedBytes
            let step = try body(entry, try matcher.matches(entry.record, at: entry.pathView))
            if step == .stop { isStopped = true }
            return step
        }
        defer {
            execution.documentsScanned += scanned
            execution.bytesRead += bytes
            if !plan.indexes.isEmpty { execution.indexEntriesScanned += scanned }
        }
        if case .lookup(let paths, _) = plan {
            for path in paths where !isStopped {
                try transaction.withDocument(at: path, asSeenBy: user) {
                    entry throws(LarderError) in
                    if entry.state == .found { _ = try test(entry) }
                }
            }
            return
        }
        let options = ScanOptions(isReversed: plan.isReversed, user: user)
        for source in plan.sources where !isStopped {
            try transaction.documents(in: source, options: options) { entry throws(LarderError) in
                try test(entry)
            }
        }
    }
}
