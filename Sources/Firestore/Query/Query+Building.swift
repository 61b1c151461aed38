package import LarderModel

extension Query {
    /// This query with another filter.
    ///
    /// Composites of nothing are left out, those of one filter are that filter. For the name
    /// ids and paths, as applications give them, become references.
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

    /// True if an order can be added: not after a start or an end.
    package var canAddOrder: Bool { start == nil && end == nil }

    /// This query with an order appended.
    ///
    /// - Throws: `invalidArgument` where a start or an end is set already.
    package func ordered(by path: FieldPath, isDescending: Bool = false)
        throws(LarderError) -> Query
    {
        guard canAddOrder else {
            throw .invalidArgument("orders come before the start and the end of a query")
        }
        var query = self
        query.explicitOrders.append(Order(path, isDescending: isDescending))
        return query
    }

    /// This query with a limit, in place of the one it has.
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
            var resolved: [Filter] = []
            for filter in filters { resolved.append(try resolvingNames(in: filter, database)) }
            return .and(resolved)
        case .or(let filters):
            var resolved: [Filter] = []
            for filter in filters { resolved.append(try resolvingNames(in: filter, database)) }
            return .or(resolved)
        case .field(let field):
            guard field.path.isDocumentID else { return filter }
            return .field(
                FieldFilter(field.path, field.op, try resolvingNames(in: field.value, database)))
        }
    }

    /// A value for the name, or a list of them, with references for text.
    private func resolvingNames(in value: Value, _ database: DatabaseID)
        throws(LarderError) -> Value
    {
        switch value {
        case .string(let text):
            return .reference(try name(text, in: database))
        case .array(let values):
            var resolved: [Value] = []
            for value in values { resolved.append(try resolvingNames(in: value, database)) }
            return .array(resolved)
        default:
            return value
        }
    }

    /// The name of a document by its id in the query's collection, or in a group by its path.
    ///
    /// - Throws: `invalidArgument` for no id, or no document's path.
    func name(_ text: String, in database: DatabaseID) throws(LarderError) -> ResourceName {
        switch source {
        case .collection(let path):
            return ResourceName(database: database, document: try path.document(text))
        case .group:
            return ResourceName(database: database, document: try DocumentPath(text))
        case .document:
            throw .invalidArgument("a query for one document takes no names")
        }
    }
}

extension Filter {
    /// Without composites of nothing and of one filter; nil when nothing is left.
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
