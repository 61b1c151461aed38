import LarderModel
import LarderQuery

extension Query {
    /// This query's documents that have a field, small values of it first.
    public func order(by field: String) -> Query {
        ordered(by: field, isDescending: false)
    }

    /// This query's documents that have a field, small values of it first.
    public func order(by path: FieldPath) -> Query {
        ordered(by: path, isDescending: false)
    }

    /// This query's documents that have a field, in the order of its values.
    public func order(by field: String, descending: Bool) -> Query {
        ordered(by: field, isDescending: descending)
    }

    /// This query's documents that have a field, in the order of its values.
    public func order(by path: FieldPath, descending: Bool) -> Query {
        ordered(by: path, isDescending: descending)
    }

    private func ordered(by field: Any, isDescending: Bool) -> Query {
        adding { (query, _) throws(LarderError) in
            try query.ordered(by: try FieldPath.resolving(field), isDescending: isDescending)
        }
    }

    /// The first documents of this query, at most so many, at least 1.
    public func limit(to limit: Int) -> Query {
        adding { (query, _) throws(LarderError) in try query.limited(to: .first(limit)) }
    }

    /// The last documents of this query, at most so many, at least 1, in its order.
    ///
    /// The query needs an ``order(by:)-(String)``.
    public func limit(toLast limit: Int) -> Query {
        adding { (query, _) throws(LarderError) in try query.limited(to: .last(limit)) }
    }
}
