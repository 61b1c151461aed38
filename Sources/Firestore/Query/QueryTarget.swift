import LarderModel

/// What a query asks the backend for: all orders spelled out, the limit counted from the start.
///
/// Several queries may share a target: the last two by rising age are the first two by falling
/// age. Filters are compared in order, and two of the same are not one.
package struct QueryTarget: Sendable, Hashable {
    /// Where to look.
    package let source: Query.Source
    /// What all must match.
    package let filters: [Filter]
    /// All orders, the last of them on the document's name unless that came before.
    package let orders: [Order]
    /// How many documents from the start; nil for all.
    package let limit: Int?
    /// Where it begins in its order.
    package let start: Bound?
    /// Where it ends in its order.
    package let end: Bound?

    /// A target of its parts, as ``init(decoding:)`` finds them.
    init(
        source: Query.Source, filters: [Filter], orders: [Order], limit: Int?, start: Bound?,
        end: Bound?
    ) {
        self.source = source
        self.filters = filters
        self.orders = orders
        self.limit = limit
        self.start = start
        self.end = end
    }

    /// The query, limited from its start, that asks for this target.
    package var query: Query {
        // A query for one document names no orders.
        let isDocument = if case .document = source { true } else { false }
        return Query(
            source, filters: filters,
            orders: isDocument && orders == [Order(.documentID)] ? [] : orders,
            limit: limit.map { .first($0) }, start: start, end: end)
    }

    /// The query, limited from its end, that asks for this target; nil without a limit.
    package var queryLimitedToLast: Query? {
        guard let limit else { return nil }
        return Query(
            source, filters: filters, orders: orders.map(\.turnedRound), limit: .last(limit),
            start: end, end: start)
    }
}

extension Order {
    /// The order the other way round.
    fileprivate var turnedRound: Order { Order(path, isDescending: !isDescending) }
}

extension Query {
    /// What the query asks the backend for.
    ///
    /// With a limit counted from the end every order is turned round, and start and end change
    /// places, each with its inclusiveness.
    package var target: QueryTarget {
        var (orders, start, end) = (orders, start, end)
        if case .last = limit {
            orders = orders.map(\.turnedRound)
            (start, end) = (end, start)
        }
        return QueryTarget(
            source: source, filters: filters, orders: orders, limit: limit?.count, start: start,
            end: end)
    }

    /// Whether the limit counts from the end.
    package var isLimitedToLast: Bool {
        if case .last = limit { true } else { false }
    }
}

extension Query: Hashable {
    /// Whether both ask for the same target with the same kind of limit.
    package static func == (left: Query, right: Query) -> Bool {
        left.isLimitedToLast == right.isLimitedToLast && left.target == right.target
    }

    /// Hashes the target and the kind of limit.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(isLimitedToLast)
        hasher.combine(target)
    }
}
