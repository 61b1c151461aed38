package import LarderDocumentStore
package import LarderModel
package import LarderQuery

extension QueryRunner {
    /// Aggregations over the documents that a query matches in the local view, with its limit and
    /// cursors.
    ///
    /// Every aggregation is over the documents that have all aggregated fields, and with a limit or
    /// an offset in the order of these; see ``LarderQuery/Query/ordered(for:)``.
    ///
    /// A count alone reads no document where an index has exactly the matches, or where all
    /// documents of a collection are counted; a minimum or maximum reads one where an index has
    /// the field's order.
    ///
    /// - Parameters:
    ///   - offset: the number of documents to skip before the limit applies.
    ///   - charge: is charged for the documents that are held; only a query with a limit or an
    ///     offset holds some.
    /// - Throws: `dataLoss` for a damaged row, naming the document; `invalidArgument` for a query
    ///   that validation refuses, too; errors of the charge.
    package func aggregate<T: ReadableTransaction & ~Copyable>(
        _ aggregates: [Aggregate], over query: Query, offset: Int = 0,
        in transaction: borrowing T, charge: QueryCharge? = nil
    ) throws(LarderError) -> AggregateResult {
        let start = ContinuousClock.now
        let selection = QuerySelection(query.ordered(for: aggregates), offset: offset)
        var result = try figures(aggregates, selection, transaction, charge)
        result.execution.microseconds = start.microsecondsSince
        return result
    }

    private func figures<T: ReadableTransaction & ~Copyable>(
        _ aggregates: [Aggregate], _ selection: QuerySelection, _ transaction: borrowing T,
        _ charge: QueryCharge?
    ) throws(LarderError) -> AggregateResult {
        let (query, offset) = (selection.queryWithOffset, selection.offset)
        if aggregates.allSatisfy({ $0 == .count }),
            let result = try countedOnly(query, transaction)
        {
            return result.dropping(offset)
        }
        let tested = query.requiringFields(of: aggregates)
        if offset == 0, let result = try extremesOnly(aggregates, tested, transaction) {
            return result
        }
        var accumulator = AggregateAccumulator(aggregates)
        let ordering = ResultOrdering(query)
        let choice = try plan(query, ordering, in: transaction)
        let run = try QueryRun(tested, ordering, choice, user: user, charge: charge)
        if ordering.limit == nil, offset == 0 {
            try run.forEachMatch(of: choice.plan, in: transaction) { entry throws(LarderError) in
                try accumulator.add(entry.record)
                return .continue
            }
        } else {
            let documents = try run.documents(of: choice.plan, in: transaction)
            for document in try selection.selected(from: documents) {
                guard let record = document.record else { continue }
                try record.withView { (record) throws(LarderError) in
                    try accumulator.add(record)
                }
            }
        }
        var execution = run.execution
        execution.documentsReturned = 0
        return AggregateResult(values: try accumulator.values(), execution: execution)
    }

    // MARK: Without documents

    /// The count of a query's matches, if it can be computed without reading documents.
    private func countedOnly<T: ReadableTransaction & ~Copyable>(
        _ query: Query, _ transaction: borrowing T
    ) throws(LarderError) -> AggregateResult? {
        if let result = try collectionCount(query, transaction) { return result }
        let ordering = ResultOrdering(query)
        let choice = try plan(query, ordering, countsOnly: true, in: transaction)
        guard choice.plan.isExact else { return nil }
        var execution = QueryExecution(choice, countsOnly: true)
        let limit = ordering.limit ?? .max
        var count = 0
        for source in choice.plan.sources where count < limit {
            try transaction.documents(
                in: source, options: ScanOptions(readsNamesOnly: true, user: user)
            ) { _ throws(LarderError) in
                count += 1
                return count < limit ? .continue : .stop
            }
        }
        execution.indexEntriesScanned = count
        return AggregateResult(values: [.count: .integer(Int64(count))], execution: execution)
    }

    /// The number of all documents in a collection: the store's count, adjusted by the user's
    /// pending writes.
    private func collectionCount<T: ReadableTransaction & ~Copyable>(
        _ query: Query, _ transaction: borrowing T
    ) throws(LarderError) -> AggregateResult? {
        guard case .collection(let path) = query.source, query.filters.isEmpty,
            query.start == nil, query.end == nil,
            query.explicitOrders.allSatisfy({ $0.path.isDocumentID })
        else { return nil }
        var count = try transaction.collection(at: path)?.documentCount ?? 0
        var written: [(path: DocumentPath, exists: Bool)] = []
        try transaction.documents(
            in: .overlays(of: user, in: path), options: ScanOptions(includesAllStates: true)
        ) { entry throws(LarderError) in
            written.append((entry.path, entry.state == .found))
            return .continue
        }
        for (path, exists) in written {
            let existed = try transaction.withDocument(at: path) { entry throws(LarderError) in
                entry.state == .found
            }
            count += (exists ? 1 : 0) - (existed == true ? 1 : 0)
        }
        if let limit = query.limit { count = min(count, Int64(limit.count)) }
        let plan = QueryPlan.documentIDs(
            DocumentIDScan(.collection(path), for: Conjunction(), ResultOrdering(query)))
        let choice = ChosenPlan(plan: plan, candidates: [])
        return AggregateResult(
            values: [.count: .integer(count)],
            execution: QueryExecution(choice, kind: .collectionCount))
    }

    // MARK: From the ends of an index

    /// Minima and maxima, if an index has each at its start or end.
    private func extremesOnly<T: ReadableTransaction & ~Copyable>(
        _ aggregates: [Aggregate], _ query: Query, _ transaction: borrowing T
    ) throws(LarderError) -> AggregateResult? {
        guard query.limit == nil, query.start == nil, query.end == nil else { return nil }
        var runs: [(aggregate: Aggregate, query: Query, choice: ChosenPlan)] = []
        for aggregate in aggregates {
            let (path, isDescending): (FieldPath, Bool)
            switch aggregate {
            case .minimum(let field): (path, isDescending) = (field, false)
            case .maximum(let field): (path, isDescending) = (field, true)
            case .count, .sum, .average: return nil
            }
            guard !path.isDocumentID else { return nil }
            // Documents that lack a field of the query's order are excluded here, too.
            var first = query
            first.explicitOrders =
                [Order(path, isDescending: isDescending)]
                + query.explicitOrders.filter { $0.path != path && !$0.path.isDocumentID }
            first.limit = .first(1)
            let choice = try plan(first, ResultOrdering(first), in: transaction)
            guard choice.plan.providedOrder.leads, case .index = choice.plan else { return nil }
            runs.append((aggregate, first, choice))
        }
        guard var execution = runs.first.map({ QueryExecution($0.choice) }) else { return nil }
        var values: [Aggregate: Value] = [:]
        for (aggregate, query, choice) in runs {
            let run = try QueryRun(query, ResultOrdering(query), choice, user: user)
            let found = try run.documents(of: choice.plan, in: transaction).first
            values[aggregate] = aggregate.path.flatMap { found?[$0] } ?? .null
            execution.add(run.execution)
        }
        execution.documentsReturned = 0
        return AggregateResult(values: values, execution: execution)
    }
}

extension AggregateResult {
    /// The result of a count without skipped documents.
    fileprivate func dropping(_ offset: Int) -> AggregateResult {
        guard offset > 0, case .integer(let count)? = values[.count] else { return self }
        return AggregateResult(
            values: [.count: .integer(max(count - Int64(offset), 0))], execution: execution)
    }
}

extension QueryPlan {
    /// True if the plan's document IDs are exactly the matches, each once.
    fileprivate var isExact: Bool {
        switch self {
        case .nothing: true
        case .index(let scan): scan.isExact
        case .union(let plans, _): plans.allSatisfy(\.isExact)
        case .lookup, .documentIDs, .intersection, .target, .merge: false
        }
    }
}

extension ProvidedOrder {
    /// True if documents are sorted by the first requested field.
    fileprivate var leads: Bool { isComplete || lacksDocumentIDOnly || orderCount > 0 }
}
