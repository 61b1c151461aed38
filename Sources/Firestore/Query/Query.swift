package import LarderModel

/// A query for documents, as a value: scope, filters, orders, limit and bounds.
///
/// Two queries are equal if they have the same target and the same kind of limit; see
/// ``QueryTarget``.
package struct Query: Sendable {
    /// The scope of a query.
    package enum Source: Sendable, Hashable {
        case collection(CollectionPath)
        /// The documents of all collections with an ID.
        case group(String)
        case document(DocumentPath)
    }

    /// The maximum number of results, and the end of the order from which they are counted.
    package enum Limit: Sendable, Hashable {
        /// The first results, at most this many.
        case first(Int)
        /// The last results, at most this many.
        case last(Int)

        package var count: Int {
            switch self {
            case .first(let count), .last(let count): count
            }
        }
    }

    package var source: Source
    /// The filters, which must all match.
    package var filters: [Filter]
    /// The explicit orders.
    package var explicitOrders: [Order]
    /// The limit; nil for all documents.
    package var limit: Limit?
    /// The start in the query's order.
    package var start: Bound?
    /// The end in the query's order.
    package var end: Bound?

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

package struct Order: Sendable, Hashable {
    /// The field; ``LarderModel/FieldPath/documentID`` for the document name.
    package let path: FieldPath
    package let isDescending: Bool

    package init(_ path: FieldPath, isDescending: Bool = false) {
        self.path = path
        self.isDescending = isDescending
    }
}

/// A position in the order of a query, given by values of its leading orders.
package struct Bound: Sendable, Hashable {
    /// The values, at least one; a reference for the document name.
    package let values: [Value]
    /// Whether documents at exactly this position are included.
    package let isInclusive: Bool

    package init(_ values: [Value], isInclusive: Bool) {
        self.values = values
        self.isInclusive = isInclusive
    }
}

/// An aggregation over the documents that a query matches.
package enum Aggregate: Hashable, Sendable {
    /// The number of matching documents.
    case count
    /// The sum of a field's numbers; other values are ignored.
    case sum(FieldPath)
    /// The average of a field's numbers; other values are ignored.
    case average(FieldPath)
    /// A field's first value in Firestore's order.
    case minimum(FieldPath)
    /// A field's last value in Firestore's order.
    case maximum(FieldPath)

    package var path: FieldPath? {
        switch self {
        case .count: nil
        case .sum(let path), .average(let path), .minimum(let path), .maximum(let path): path
        }
    }
}

extension Query {
    /// All orders of the query: the explicit ones, then the fields of inequalities in field order,
    /// then the document name.
    ///
    /// Implicit orders have the direction of the last explicit one, ascending without one. Results
    /// contain only documents that have all these fields.
    package var orders: [Order] {
        var orders = explicitOrders
        let isDescending = explicitOrders.last?.isDescending ?? false
        var ordered = Set(explicitOrders.map(\.path))
        for path in inequalityPaths.sorted() where ordered.insert(path).inserted {
            orders.append(Order(path, isDescending: isDescending))
        }
        if ordered.insert(.documentID).inserted {
            orders.append(Order(.documentID, isDescending: isDescending))
        }
        return orders
    }

    /// The fields of inequalities, including those in composites, except the document name.
    private var inequalityPaths: Set<FieldPath> {
        Set(
            fieldFilters.lazy.filter { $0.op.isInequality && !$0.path.isDocumentID }.map(\.path))
    }

    /// The field filters of all filters, depth first.
    package var fieldFilters: [FieldFilter] { filters.flatMap(\.fieldFilters) }

    /// Whether the result contains every document in the query's scope, in any order.
    package var matchesAllDocuments: Bool {
        filters.isEmpty && limit == nil && start == nil && end == nil
            && (explicitOrders.isEmpty
                || explicitOrders.count == 1 && explicitOrders[0].path.isDocumentID)
    }
}
