package import LarderDocumentStore
package import LarderModel
package import LarderQuery

/// Answers queries from a store, in the local view of a user.
///
/// Blocks its thread while it reads. A value: any threads may use copies at once.
package struct QueryRunner: Sendable {
    /// Whose pending writes are in the answers.
    package let user: UserID
    /// The database that references are of.
    package let databaseID: DatabaseID
    private let indexes: IndexCatalog

    /// Answers for a user.
    ///
    /// - Parameters:
    ///   - user: whose pending writes are in the answers.
    ///   - databaseID: the database that references are of.
    ///   - indexes: what is known of the store's indexes; share one for each store.
    package init(user: UserID, databaseID: DatabaseID, indexes: IndexCatalog) {
        self.user = user
        self.databaseID = databaseID
        self.indexes = indexes
    }

    /// The same store as another user sees it.
    package func `as`(_ user: UserID) -> QueryRunner {
        QueryRunner(user: user, databaseID: databaseID, indexes: indexes)
    }

    /// The documents that a query matches, in its order, its limit applied.
    ///
    /// Nothing is allocated for a document that does not match. With a limit no more documents
    /// are held than it says, however many match.
    ///
    /// - Parameters:
    ///   - query: what to find.
    ///   - target: documents that are known to have matched, if any; a plan may begin with them.
    ///   - transaction: where to find it, in a read or a write transaction.
    /// - Throws: `dataLoss` for a damaged row, naming the document; `invalidArgument` for a query
    ///   that validation refuses, too.
    package func run<T: ReadableTransaction & ~Copyable>(
        _ query: Query, from target: TargetDocuments? = nil, in transaction: borrowing T
    ) throws(LarderError) -> QueryResult {
        let start = ContinuousClock.now
        let arrangement = Arrangement(query)
        let choice = try plan(query, arrangement, from: target, in: transaction)
        let run = try QueryRun(query, arrangement, choice, user: user)
        let documents = try run.documents(of: choice.plan, in: transaction)
        run.execution.microseconds = start.microsecondsSince
        return QueryResult(documents: documents, execution: run.execution)
    }

    /// The plan that a query would be answered by, without running it.
    package func explain<T: ReadableTransaction & ~Copyable>(
        _ query: Query, in transaction: borrowing T
    ) throws(LarderError) -> QueryExecution {
        let start = ContinuousClock.now
        let choice = try plan(query, Arrangement(query), from: nil, in: transaction)
        var execution = QueryExecution(choice)
        execution.microseconds = start.microsecondsSince
        return execution
    }

    /// Thinks of plans for a query.
    func plan<T: ReadableTransaction & ~Copyable>(
        _ query: Query, _ arrangement: Arrangement, from target: TargetDocuments? = nil,
        countsOnly: Bool = false, in transaction: borrowing T
    ) throws(LarderError) -> Planner.Choice {
        let place: NameScan.Place
        switch query.source {
        case .document(let path):
            let plan = QueryPlan.lookup([path], .complete)
            return Planner.Choice(
                plan: plan, candidates: [.init(plan: plan, cost: PlanCosts.lookup)])
        case .collection(let path): place = .collection(path)
        case .group(let id): place = .group(id)
        }
        let complete = try indexes.completeIndexes(ofGroup: place.groupID, in: transaction)
        return try Planner.choose(
            for: query, in: place, arrangement, complete, from: target, user: user,
            countsOnly: countsOnly, transaction)
    }
}

extension NameScan.Place {
    /// The collection group.
    fileprivate var groupID: String {
        switch self {
        case .collection(let path): path.id
        case .group(let id): id
        }
    }
}

extension ContinuousClock.Instant {
    /// The time that has passed since then.
    var microsecondsSince: Int64 {
        let (seconds, attoseconds) = duration(to: .now).components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}
