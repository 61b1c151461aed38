package import LarderDocumentStore
package import LarderModel
package import LarderQuery

extension QueryRunner {
    /// Gives each document that a query matches to a closure, in the query's order, its limit
    /// applied, until it answers ``LarderModel/IterationStep/stop``.
    ///
    /// One document is held at a time where a plan leads to them in order, else as many as
    /// ``run(_:from:in:)`` holds.
    ///
    /// - Throws: what the closure throws, and as ``run(_:from:in:)``.
    package func forEachDocument<T: ReadableTransaction & ~Copyable>(
        of query: Query, in transaction: borrowing T,
        _ body: (Document) throws(LarderError) -> IterationStep
    ) throws(LarderError) {
        let arrangement = Arrangement(query)
        let choice = try plan(query, arrangement, in: transaction)
        let run = try QueryRun(query, arrangement, choice, user: user)
        guard choice.plan.givesInOrder, !arrangement.isTurned else {
            for document in try run.documents(of: choice.plan, in: transaction) {
                if try body(document) == .stop { return }
            }
            return
        }
        var left = arrangement.limit ?? .max
        try run.forEachMatch(of: choice.plan, in: transaction) { entry throws(LarderError) in
            left -= 1
            return try body(try entry.document()) == .stop || left <= 0 ? .stop : .continue
        }
    }

    /// Lends each document that a query without a limit matches to a closure, in any order.
    ///
    /// Nothing is allocated but what the closure copies.
    ///
    /// - Throws: what the closure throws, and as ``run(_:from:in:)``.
    package func forEachMatch<T: ReadableTransaction & ~Copyable>(
        of query: Query, in transaction: borrowing T,
        _ body: (borrowing DocumentEntry) throws(LarderError) -> Void
    ) throws(LarderError) {
        let arrangement = Arrangement(query)
        let choice = try plan(query, arrangement, in: transaction)
        let run = try QueryRun(query, arrangement, choice, user: user)
        try run.forEachMatch(of: choice.plan, in: transaction) { entry throws(LarderError) in
            try body(entry)
            return .continue
        }
    }
}

extension QueryPlan {
    /// Whether the documents that it leads to come in the wanted order one by one: not so where
    /// entries of an index that are alike must be sorted, or several plans are merged.
    fileprivate var givesInOrder: Bool {
        switch self {
        case .index, .merge: false
        case .nothing, .lookup, .names, .union, .intersection, .target: delivery.isComplete
        }
    }
}
