import LarderModel
import LarderQuery

/// What is prepared for active queries and may be made again: the matchers of views that changes
/// have touched lately, and comparators, which queries with the same orders share.
///
/// A matcher takes more memory than the rest of an idle view, so that only so many are kept.
struct PreparedQueries: Sendable {
    private var matchers: [ViewID: QueryMatcher] = [:]
    private var comparators: [[Order]: DocumentComparator] = [:]
    private static let capacity = 1_024

    /// The matcher of a view's query.
    ///
    /// - Throws: `invalidArgument` for a query that cannot be prepared.
    mutating func matcher(of query: Query, for view: ViewID) throws(LarderError) -> QueryMatcher {
        if let matcher = matchers[view] { return matcher }
        let matcher = try QueryMatcher(query)
        if matchers.count >= Self.capacity { matchers.removeAll(keepingCapacity: true) }
        matchers[view] = matcher
        return matcher
    }

    /// The comparator of a query.
    mutating func comparator(of query: Query) -> DocumentComparator {
        let orders = query.orders
        if let comparator = comparators[orders] { return comparator }
        let comparator = DocumentComparator(orders: orders)
        if comparators.count >= Self.capacity { comparators.removeAll(keepingCapacity: true) }
        comparators[orders] = comparator
        return comparator
    }

    /// Forgets a view.
    mutating func remove(_ view: ViewID) {
        matchers[view] = nil
    }
}
