package import LarderModel

/// A query for documents, as a value: scope, filters, orders, limit and bounds.
///
/// Two queries are equal if they have the same target and the same kind of limit; see
/// ``QueryTarget``.
package struct Query: Sendable {
    /// The scope of a query.
    package enum Source: Sendable, Hashable {
        /// Directly in one collection.
        case collection(CollectionPath)
        /// In every collection with this id.
        case group(String)
        /// At one document.
        case document(DocumentPath)
    }

    /// The maximum number of results, and the end of the order they are taken from.
    package enum Limit: Sendable, Hashable {
        /// The first results, at most this many.
        case first(Int)
        /// The last results, at most this many.
        case last(Int)

        /// The maximum number.
        package var count: Int {
            switch self {
            case .first(let count), .last(let count): count
            }
        }
    }

    /// The scope.
    package var source: Source
    /// The filters, all of which must match.
    package var filters: [Filter]
    /// The explicit orders, without implicit ones.
    package var explicitOrders: [Order]
    /// The limit; nil for all documents.
    package var limit: Limit?
    /// The start in the query's order.
    package var start: Bound?
    /// The end in the query's order.
    package var end: Bound?

    /// A query for the documents of a scope, restricted by the parameters.
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

/// A field that documents are ordered by.
package struct Order: Sendable, Hashable {
    /// The field; ``LarderModel/FieldPath/documentID`` for the document's name.
    package let path: FieldPath
    /// True if large values come first.
    package let isDescending: Bool

    /// An order by a field.
    package init(_ path: FieldPath, isDescending: Bool = false) {
        self.path = path
        self.isDescending = isDescending
    }
}

/// A place in the order of a query: values for its first orders.
package struct Bound: Sendable, Hashable {
    /// Values of the first orders, at least one; a reference for the name.
    package let values: [Value]
    /// True if documents at that very place are within.
    package let isInclusive: Bool

    /// A place in the order of a query.
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

    /// The field; nil for ``count``.
    package var path: FieldPath? {
        switch self {
        case .count: nil
        case .sum(let path), .average(let path), .minimum(let path), .maximum(let path): path
        }
    }
}

extension Query {
    /// All orders of the query: those asked for, then the fields of inequalities in field order,
    /// then the document's name.
    ///
    /// Implicit orders take the direction of the last explicit one, or ascend. Only documents that
    /// have all these fields are in the result.
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

    /// The fields, other than the name, that an inequality is about, also inside composites.
    private var inequalityPaths: Set<FieldPath> {
        Set(
            fieldFilters.lazy.filter { $0.op.isInequality && !$0.path.isDocumentID }.map(\.path))
    }

    /// The conditions on fields in all filters, depth first.
    package var fieldFilters: [FieldFilter] { filters.flatMap(\.fieldFilters) }

    /// True if every document in the query's place is in its result, in whatever order.
    package var matchesAllDocuments: Bool {
        filters.isEmpty && limit == nil && start == nil && end == nil
            && (explicitOrders.isEmpty
                || explicitOrders.count == 1 && explicitOrders[0].path.isDocumentID)
    }
}
