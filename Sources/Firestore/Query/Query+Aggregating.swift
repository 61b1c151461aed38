import LarderModel

/// The documents that aggregations are computed over. As if Firestore's index answered, those are
/// the ones with all aggregated fields, for every aggregation of the request, the count too.
extension Query {
    /// This query with the aggregated fields among its orders: after its own, and before the
    /// document name unless the name is an explicit order or in a bound.
    ///
    /// The order matters with a limit or an offset. It is Firestore's: further fields are in field
    /// order, in the direction of the last order.
    package func ordered(for aggregates: [Aggregate]) -> Query {
        let orders = orders
        let fields = Self.fields(of: aggregates, without: orders)
        guard !fields.isEmpty, orders.last?.path.isDocumentID == true,
            !explicitOrders.contains(where: \.path.isDocumentID)
        else { return self }
        let others = orders.dropLast()
        guard [start, end].allSatisfy({ ($0?.values.count ?? 0) <= others.count }) else {
            return self
        }
        let isDescending = others.last?.isDescending ?? false
        var query = self
        query.explicitOrders =
            Array(others) + fields.map { Order($0, isDescending: isDescending) }
        return query
    }

    /// This query, for testing documents only: with every aggregated field among its orders, so that
    /// documents without one do not match.
    package func requiringFields(of aggregates: [Aggregate]) -> Query {
        let orders = orders
        let fields = Self.fields(of: aggregates, without: orders)
        guard !fields.isEmpty else { return self }
        var query = self
        query.explicitOrders = orders + fields.map { Order($0) }
        return query
    }

    private static func fields(
        of aggregates: [Aggregate], without orders: [Order]
    ) -> [FieldPath] {
        Set(aggregates.compactMap(\.path))
            .subtracting(orders.map(\.path)).filter { !$0.isDocumentID }.sorted()
    }
}

extension Aggregate {
    /// The maximum number of aggregations in a request.
    package static let maxCount = 5
}

extension QueryTarget {
    /// True if the last order is the one by document name that every query has.
    package var impliesOrderByName: Bool {
        guard let last = orders.last, last.path == .documentID else { return false }
        let others = orders.dropLast()
        return last.isDescending == (others.last?.isDescending ?? false)
            && [start, end].allSatisfy { ($0?.values.count ?? 0) <= others.count }
    }

    /// The query that aggregations of this target are computed over: the document name is an
    /// explicit order only if it has to be.
    package var aggregatedQuery: Query {
        var query = query
        if impliesOrderByName, query.explicitOrders.last?.path == .documentID {
            query.explicitOrders.removeLast()
        }
        return query
    }
}
