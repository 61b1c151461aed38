package import LarderModel

/// A question about documents, as data: where to look, what to match, in what order, how many.
///
/// Two queries are equal when they ask the backend for the same target with the same kind of
/// limit; see ``QueryTarget``.
package struct Query: Sendable {
    /// Where a query looks.
    package enum Source: Sendable, Hashable {
        /// Directly in one collection.
        case collection(CollectionPath)
        /// In every collection with this id.
        case group(String)
        /// At one document.
        case document(DocumentPath)
    }

    /// How many documents a query gives, and from which end of its order.
    package enum Limit: Sendable, Hashable {
        /// At most so many from the beginning.
        case first(Int)
        /// At most so many up to the end.
        case last(Int)

        /// At most how many.
        package var count: Int {
            switch self {
            case .first(let count), .last(let count): count
            }
        }
    }

    /// Where it looks.
    package var source: Source
    /// What all must match.
    package var filters: [Filter]
    /// The orders that were asked for, without implicit ones.
    package var explicitOrders: [Order]
    /// How many documents; nil for all.
    package var limit: Limit?
    /// Where it begins in its order.
    package var start: Bound?
    /// Where it ends in its order.
    package var end: Bound?

    /// A query for everything in a place, or for what the parameters leave of it.
    package init(
        _ source: Source, filters: [Filter] = [], orders: [Order] = [], limit: Limit? = nil,
        start: Bound? = nil, end: Bound? = nil
    ) {
        self.source = source
        self.filters = filters
        explicitOrders = orders
        self.limit = limit
        self.start = start
        self.end = end
    }
}
