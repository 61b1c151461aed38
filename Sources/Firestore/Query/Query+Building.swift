package import LarderModel

extension Query {
    /// This query with another filter.
    ///
    /// Composites of nothing are left out, those of one filter are that filter. For the name
    /// ids and paths, as applications give them, become references.
    ///
    /// - Throws: `invalidArgument` for a filter that is not sound or does not go with those
    ///   before, and for references to another database.
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

    /// Whether another order may follow: not after a start or an end.
    package var canAddOrder: Bool { start == nil && end == nil }

    /// This query with another order behind those it has.
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
