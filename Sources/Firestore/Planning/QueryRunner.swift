package import LarderDocumentStore
package import LarderModel
package import LarderQuery

/// Called with changes of the bytes that the documents of a running query take up; throws to end the
/// query.
package typealias QueryCharge = (_ bytes: Int) throws(LarderError) -> Void

/// Runs queries against a store, in the local view of a user.
///
/// Blocks the calling thread while reading. A value: copies can be used concurrently.
package struct QueryRunner: Sendable {
    package let user: UserID
    package let databaseID: DatabaseID
    private let indexes: IndexCatalog

    /// - Parameters:
    ///   - user: the user whose pending writes are included.
    ///   - databaseID: the database of references.
    ///   - indexes: the cache of the store's indexes; share one for each store.
    package init(user: UserID, databaseID: DatabaseID, indexes: IndexCatalog) {
        self.user = user
        self.databaseID = databaseID
        self.indexes = indexes
    }

    /// A runner for the local view of another user.
    package func `as`(_ user: UserID) -> QueryRunner {
        QueryRunner(user: user, databaseID: databaseID, indexes: indexes)
    }

    /// The documents that a query matches, in its order, with its limit.
    ///
    /// Allocates nothing for documents that do not match. With a limit, holds at most that many
    /// documents, regardless of the number of matches.
    ///
    /// - Parameters:
    ///   - query: the query.
    ///   - target: the documents of an earlier result of the query, if any; a plan may use them.
    ///   - transaction: a read or write transaction of the store.
    ///   - charge: is charged for the documents that are held.
    /// - Throws: `dataLoss` for a damaged row, naming the document; `invalidArgument` for a query
    ///   that validation refuses, too; errors of the charge.
    package func run<T: ReadableTransaction & ~Copyable>(
        _ query: Query, from target: TargetDocuments? = nil, in transaction: borrowing T,
        charge: QueryCharge? = nil
    ) throws(LarderError) -> QueryResult {
        let start = ContinuousClock.now
        let ordering = ResultOrdering(query)
        let choice = try plan(query, ordering, from: target, in: transaction)
        let run = try QueryRun(query, ordering, choice, user: user, charge: charge)
        let documents = try run.documents(of: choice.plan, in: transaction)
        run.execution.microseconds = start.microsecondsSince
        return QueryResult(documents: documents, execution: run.execution)
    }

    /// The plan for a query, without running it.
    package func explain<T: ReadableTransaction & ~Copyable>(
        _ query: Query, in transaction: borrowing T
    ) throws(LarderError) -> QueryExecution {
        let start = ContinuousClock.now
        let choice = try plan(query, ResultOrdering(query), from: nil, in: transaction)
        var execution = QueryExecution(choice)
        execution.microseconds = start.microsecondsSince
        return execution
    }

    func plan<T: ReadableTransaction & ~Copyable>(
        _ query: Query, _ ordering: ResultOrdering, from target: TargetDocuments? = nil,
        countsOnly: Bool = false, in transaction: borrowing T
    ) throws(LarderError) -> ChosenPlan {
        let place: DocumentIDScan.Place
        switch query.source {
        case .document(let path):
            let plan = QueryPlan.lookup([path], .complete)
            return ChosenPlan(
                plan: plan, candidates: [.init(plan: plan, cost: PlanCosts.lookup)])
        case .collection(let path): place = .collection(path)
        case .group(let id): place = .group(id)
        }
        let complete = try indexes.completeIndexes(ofGroup: place.groupID, in: transaction)
        return try Planner.choose(
            for: query, in: place, ordering, complete, from: target, user: user,
            countsOnly: countsOnly, transaction)
    }
}

extension DocumentIDScan.Place {
    fileprivate var groupID: String {
        switch self {
        case .collection(let path): path.id
        case .group(let id): id
        }
    }
}

extension ContinuousClock.Instant {
    /// The time elapsed since this instant.
    var microsecondsSince: Int64 {
        let (seconds, attoseconds) = duration(to: .now).components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}

// MARK: - Visiting

extension QueryRunner {
    /// Calls a closure with each document that a query matches, in the query's order, with its
    /// limit, until it returns ``LarderModel/IterationStep/stop``.
    ///
    /// Holds one document at a time if the plan yields them in order, otherwise as many as
    /// ``run(_:from:in:charge:)``.
    ///
    /// - Parameter charge: is charged for the documents that are held.
    /// - Throws: errors of the closures, and as ``run(_:from:in:charge:)``.
    package func forEachDocument<T: ReadableTransaction & ~Copyable>(
        of query: Query, in transaction: borrowing T, charge: QueryCharge? = nil,
        _ body: (Document) throws(LarderError) -> IterationStep
    ) throws(LarderError) {
        _ = try remainder(of: query, in: transaction, charge: charge, body)
    }

    /// Like ``forEachDocument(of:in:charge:_:)``, but returns the documents that follow the one at which the
    /// closure stopped: known if the plan yields documents in another order, otherwise nil.
    package func remainder<T: ReadableTransaction & ~Copyable>(
        of query: Query, in transaction: borrowing T, charge: QueryCharge? = nil,
        _ body: (Document) throws(LarderError) -> IterationStep
    ) throws(LarderError) -> ArraySlice<Document>? {
        let ordering = ResultOrdering(query)
        let choice = try plan(query, ordering, in: transaction)
        let run = try QueryRun(query, ordering, choice, user: user, charge: charge)
        if choice.plan.yieldsInOrder, !ordering.isReversed {
            var left = ordering.limit ?? .max
            var isStopped = false
            try run.forEachMatch(of: choice.plan, in: transaction) { entry throws(LarderError) in
                left -= 1
                isStopped = try body(try entry.document()) == .stop
                return isStopped || left <= 0 ? .stop : .continue
            }
            return isStopped && left > 0 ? nil : []
        }
        var rest = try run.documents(of: choice.plan, in: transaction)[...]
        while let document = rest.popFirst() {
            if try body(document) == .stop { break }
        }
        return rest
    }

    /// Calls a closure with each document that a query without a limit matches, in any order.
    ///
    /// Allocates only for documents that the closure copies.
    ///
    /// - Throws: errors of the closure, and as ``run(_:from:in:charge:)``.
    package func forEachMatch<T: ReadableTransaction & ~Copyable>(
        of query: Query, in transaction: borrowing T,
        _ body: (borrowing DocumentEntry) throws(LarderError) -> Void
    ) throws(LarderError) {
        let ordering = ResultOrdering(query)
        let choice = try plan(query, ordering, in: transaction)
        let run = try QueryRun(query, ordering, choice, user: user)
        try run.forEachMatch(of: choice.plan, in: transaction) { entry throws(LarderError) in
            try body(entry)
            return .continue
        }
    }
}

extension QueryPlan {
    /// True if the plan yields its documents one by one in the requested order: not if equal index
    /// entries must be sorted, or several plans are merged.
    fileprivate var yieldsInOrder: Bool {
        switch self {
        case .index, .merge: false
        case .nothing, .lookup, .documentIDs, .union, .intersection, .target:
            providedOrder.isComplete
        }
    }
}
