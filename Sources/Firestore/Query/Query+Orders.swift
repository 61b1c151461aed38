import LarderModel

extension Query {
    /// All orders of the query: those asked for, then the fields of inequalities in field order,
    /// then the document's name.
    ///
    /// What is implicit takes the direction of the last order that was asked for, or ascends. A
    /// document has a place in the query only if it has all these fields.
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

    /// Whether every document in the query's place is in its result, in whatever order.
    package var matchesAllDocuments: Bool {
        filters.isEmpty && limit == nil && start == nil && end == nil
            && (explicitOrders.isEmpty
                || explicitOrders.count == 1 && explicitOrders[0].path.isDocumentID)
    }
}
