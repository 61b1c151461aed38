package import LarderModel

extension Query {
    /// This query with another filter.
    ///
    /// Empty composites are omitted, those of one filter are replaced by it. IDs and paths as
    /// operands of the document name become references.
    ///
    /// - Throws: `invalidArgument` for a filter that is invalid or conflicts with earlier ones, and
    ///   for references to another database.
    package func adding(_ filter: Filter, in database: DatabaseID) throws(LarderError) -> Query {
        try Filter.checkDepth(of: [filter])
        guard let simplified = filter.simplified else { return self }
        var query = self
        query.filters.append(try resolvingNames(in: simplified, database))
        for filter in query.fieldFilters[fieldFilters.count...] {
            try filter.validate()
            try filter.value.validateReferences(to: database)
        }
        try FieldFilter.checkConflicts(in: query.fieldFilters)
        return query
    }

    /// Whether an order can be added: not after a start or an end.
    package var canAddOrder: Bool { start == nil && end == nil }

    /// This query with an order appended.
    ///
    /// - Throws: `invalidArgument` if a start or an end is set.
    package func ordered(by path: FieldPath, isDescending: Bool = false)
        throws(LarderError) -> Query
    {
        guard canAddOrder else {
            throw .invalidArgument("orders must precede the start and the end of a query")
        }
        var query = self
        query.explicitOrders.append(Order(path, isDescending: isDescending))
        return query
    }

    /// This query with its limit replaced.
    ///
    /// - Throws: `invalidArgument` for a limit below 1.
    package func limited(to limit: Limit) throws(LarderError) -> Query {
        try limit.validate()
        var query = self
        query.limit = limit
        return query
    }

    private func resolvingNames(in filter: Filter, _ database: DatabaseID)
        throws(LarderError) -> Filter
    {
        switch filter {
        case .and(let filters):
            return .and(try resolvingNames(in: filters, database))
        case .or(let filters):
            return .or(try resolvingNames(in: filters, database))
        case .field(let field):
            guard field.path.isDocumentID else { return filter }
            return .field(
                FieldFilter(field.path, field.op, try resolvingNames(in: field.value, database)))
        }
    }

    private func resolvingNames(in filters: [Filter], _ database: DatabaseID)
        throws(LarderError) -> [Filter]
    {
        try filters.map { filter throws(LarderError) in
            try resolvingNames(in: filter, database)
        }
    }

    /// An operand of the document name, or a list of operands, with text replaced by references.
    private func resolvingNames(in value: Value, _ database: DatabaseID)
        throws(LarderError) -> Value
    {
        switch value {
        case .string(let text):
            return .reference(try name(text, in: database))
        case .array(let values):
            return .array(
                try values.map { value throws(LarderError) in
                    try resolvingNames(in: value, database)
                })
        default:
            return value
        }
    }

    /// The document with an ID in the query's collection, or with a path in its group.
    ///
    /// - Throws: `invalidArgument` for an empty ID or an invalid path.
    func name(_ text: String, in database: DatabaseID) throws(LarderError) -> ResourceName {
        switch source {
        case .collection(let path):
            return ResourceName(database: database, document: try path.document(text))
        case .group:
            return ResourceName(database: database, document: try DocumentPath(text))
        case .document:
            throw .invalidArgument("a query for one document has no document names")
        }
    }
}

extension Filter {
    /// The filter without empty composites and composites of one filter; nil if nothing is left.
    fileprivate var simplified: Filter? {
        switch self {
        case .field: return self
        case .and(let filters):
            let parts = filters.compactMap(\.simplified)
            return parts.count > 1 ? .and(parts) : parts.first
        case .or(let filters):
            let parts = filters.compactMap(\.simplified)
            return parts.count > 1 ? .or(parts) : parts.first
        }
    }
}

// MARK: - Cursors

extension Query {
    /// A bound at values of the leading explicit orders.
    ///
    /// A value of the document name is an ID in the collection, or a path in a group.
    ///
    /// - Throws: `invalidArgument` for no values or more than orders, values that cannot be bounds,
    ///   and references to another database.
    package func bound(at values: [Value], isInclusive: Bool, in database: DatabaseID)
        throws(LarderError) -> Bound
    {
        guard !values.isEmpty else { throw .invalidArgument("a cursor needs at least one value") }
        guard values.count <= explicitOrders.count else {
            throw .invalidArgument(
                "a cursor needs at most one value for each order(by:): "
                    + "it has \(values.count), the query \(explicitOrders.count)")
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
                throw .invalidArgument("a bound on the document name must be text")
            }
            resolved.append(.reference(try name(text, in: database)))
        }
        return Bound(resolved, isInclusive: isInclusive)
    }

    /// A bound at the position of a document in all orders of the query.
    ///
    /// - Throws: `invalidArgument` for a document that does not exist, lacks one of the fields, or
    ///   has a pending server timestamp in one.
    package func bound(at document: Document, isInclusive: Bool, in database: DatabaseID)
        throws(LarderError) -> Bound
    {
        guard document.exists else {
            throw .invalidArgument(
                "'\(document.path)' cannot be a bound of a query: it does not exist")
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
                    "'\(document.path)' cannot be a bound of a query: it has no '\(order.path)', "
                        + "by which the query is ordered")
            }
        }
        return Bound(values, isInclusive: isInclusive)
    }
}
