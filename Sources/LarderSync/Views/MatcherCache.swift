import LarderModel
import LarderQuery

/// The prepared queries of views that changes have touched lately.
///
/// A prepared query takes more memory than the rest of an idle view, so that only so many are
/// kept.
struct MatcherCache: Sendable {
    private var matchers: [ViewID: QueryMatcher] = [:]
    private static let capacity = 1_024

    /// The prepared query of a view.
    ///
    /// - Throws: `invalidArgument` for a query that cannot be prepared.
    mutating func matcher(of query: Query, for view: ViewID) throws(LarderError) -> QueryMatcher {
        if let matcher = matchers[view] { return matcher }
        let matcher = try QueryMatcher(query)
        if matchers.count >= Self.capacity { matchers.removeAll(keepingCapacity: true) }
        matchers[view] = matcher
        return matcher
    }

    /// Forgets a view.
    mutating func remove(_ view: ViewID) {
        matchers[view] = nil
    }
}
