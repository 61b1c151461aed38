package import LarderModel

extension Query {
    /// A start or an end at values of the first orders that were asked for.
    ///
    /// For the name the value is an id in the collection, or in a group a document's path.
    ///
    /// - Throws: `invalidArgument` for no values or more than orders, values that a query cannot
    ///   begin or end at, and references to another database.
    package func bound(at values: [Value], isInclusive: Bool, in database: DatabaseID)
        throws(LarderError) -> Bound
    {
        guard !values.isEmpty else { throw .invalidArgument("a start or an end needs values") }
        guard values.count <= explicitOrders.count else {
            throw .invalidArgument(
                "a start or an end has \(values.count) values; the query has "
                    + "\(explicitOrders.count) order(by:)")
        }
        var resolved: [Value] = []
        for (value, order) in zip(values, explicitOrders) {
            guard order.path.isDocumentID else {
                try value.validateAsBound(of: order.path)
                try value.validateInQuery(allowsNestedArrays: false)
                try value.validateReferences(to: database)
                resolved.append(value)
                continue
            }
            guard case .string(let text) = value else {
                throw .invalidArgument("a query begins or ends at a document's id, given as text")
            }
            resolved.append(.reference(try name(text, in: database)))
        }
        return Bound(resolved, isInclusive: isInclusive)
    }

    /// A start or an end at the place of a document in all orders of the query.
    ///
    /// - Throws: `invalidArgument` for a document that does not exist, lacks one of the fields, or
    ///   has a time there that the server has not set yet.
    package func bound(at document: Document, isInclusive: Bool, in database: DatabaseID)
        throws(LarderError) -> Bound
    {
        guard document.exists else {
            throw .invalidArgument(
                "a query cannot begin or end at '\(document.path)', which does not exist")
        }
        var values: [Value] = []
        for order in orders {
            if order.path.isDocumentID {
                let name = ResourceName(database: database, document: document.path)
                values.append(.reference(name))
            } else if let value = document[order.path] {
                try value.validateAsBound(of: order.path)
                values.append(value)
            } else {
                throw .invalidArgument(
                    "a query cannot begin or end at '\(document.path)': it has no '\(order.path)', "
                        + "which the query is ordered by")
            }
        }
        return Bound(values, isInclusive: isInclusive)
    }
}
