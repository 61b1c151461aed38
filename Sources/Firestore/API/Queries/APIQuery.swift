import LarderModel
import LarderQuery

/// A query for documents of a collection or collection group, with filters, orders, cursors and
/// limits.
///
/// Queries are immutable; methods return new queries. Where Apple's SDK terminates the program
/// (conflicting filters, a limit of 0, an order after a cursor), the new query keeps the error;
/// every operation on it, or on a query derived from it, fails with that first error as
/// `invalidArgument`.
public class Query: @unchecked Sendable {
    // Immutable; not final only because CollectionReference is a query, as in Apple's SDK.

    /// The database of the query.
    public let firestore: Firestore

    /// The query, or the error of an invalid one.
    let content: Result<LarderQuery.Query, LarderError>

    /// The part of its results that is read.
    let part: ResultPart

    init(
        _ firestore: Firestore, _ content: Result<LarderQuery.Query, LarderError>,
        part: ResultPart = ResultPart()
    ) {
        self.firestore = firestore
        self.content = content
        self.part = part
    }

    /// The query, validated for execution on all of its results.
    var executable: Result<LarderQuery.Query, LarderError> {
        selection.flatMap { $0.isWhole ? .success($0.query) : .failure(ResultPart.isRefused) }
    }

    /// The query with the part of its results that is read, validated for execution.
    var selection: Result<QuerySelection, LarderError> {
        content.flatMap { query in
            Result { () throws(LarderError) in
                try query.validateForExecution()
                return QuerySelection(query, offset: part.offset, mask: part.mask)
            }
        }
    }

    /// The collection, collection group or document that is queried.
    var place: Result<LarderQuery.Query.Source, LarderError> { content.map { $0.source } }

    func adding(
        _ change: (LarderQuery.Query, DatabaseID) throws(LarderError) -> LarderQuery.Query
    ) -> Query {
        Query(
            firestore,
            content.flatMap { query in
                Result { () throws(LarderError) in try change(query, firestore.databaseID) }
            }, part: part)
    }
}

extension Query: Hashable {
    /// True if both are the same query of the same `Firestore` object.
    public static func == (left: Query, right: Query) -> Bool {
        guard left.firestore === right.firestore, left.part == right.part else { return false }
        return switch (left.content, right.content) {
        case (.success(let left), .success(let right)): left == right
        case (.failure(let left), .failure(let right)): left == right
        default: false
        }
    }

    /// True if the other object is a query and equal by `==`.
    public func isEqual(_ object: Any?) -> Bool { (object as? Query) == self }

    /// Hashes the query.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(part)
        if case .success(let query) = content { hasher.combine(query) }
    }
}

// MARK: - Ordering

extension Query {
    /// Orders the results by a field, ascending; documents without the field are excluded.
    public func order(by field: String) -> Query {
        ordered(by: field, isDescending: false)
    }

    /// Orders the results by a field, ascending; documents without the field are excluded.
    public func order(by path: FieldPath) -> Query {
        ordered(by: path, isDescending: false)
    }

    /// Orders the results by a field; documents without the field are excluded.
    public func order(by field: String, descending: Bool) -> Query {
        ordered(by: field, isDescending: descending)
    }

    /// Orders the results by a field; documents without the field are excluded.
    public func order(by path: FieldPath, descending: Bool) -> Query {
        ordered(by: path, isDescending: descending)
    }

    private func ordered(by field: Any, isDescending: Bool) -> Query {
        adding { (query, _) throws(LarderError) in
            try query.ordered(by: try FieldPath.resolving(field), isDescending: isDescending)
        }
    }

    /// Limits the results to the first documents; the limit is at least 1.
    public func limit(to limit: Int) -> Query {
        adding { (query, _) throws(LarderError) in try query.limited(to: .first(limit)) }
    }

    /// Limits the results to the last documents, in the query's order; the limit is at least 1.
    ///
    /// The query must have an ``order(by:)-(String)``.
    public func limit(toLast limit: Int) -> Query {
        adding { (query, _) throws(LarderError) in try query.limited(to: .last(limit)) }
    }
}

// MARK: - Cursors

extension Query {
    /// Starts the results at a position in the query's order, including documents at that position.
    ///
    /// The values correspond to the query's orders or a prefix of them; a document ID is given as a
    /// string.
    public func start(at fieldValues: [Any]) -> Query {
        cut(at: fieldValues, isInclusive: true, \.start)
    }

    /// Starts the results after a position in the query's order.
    public func start(after fieldValues: [Any]) -> Query {
        cut(at: fieldValues, isInclusive: false, \.start)
    }

    /// Ends the results at a position in the query's order, including documents at that position.
    public func end(at fieldValues: [Any]) -> Query {
        cut(at: fieldValues, isInclusive: true, \.end)
    }

    /// Ends the results before a position in the query's order.
    public func end(before fieldValues: [Any]) -> Query {
        cut(at: fieldValues, isInclusive: false, \.end)
    }

    /// Starts the results at a document, which must exist and have the fields of the query's
    /// orders.
    public func start(atDocument document: DocumentSnapshot) -> Query {
        cut(at: document, isInclusive: true, \.start)
    }

    /// Starts the results after a document, which must exist and have the fields of the query's
    /// orders.
    public func start(afterDocument document: DocumentSnapshot) -> Query {
        cut(at: document, isInclusive: false, \.start)
    }

    /// Ends the results at a document, which must exist and have the fields of the query's orders.
    public func end(atDocument document: DocumentSnapshot) -> Query {
        cut(at: document, isInclusive: true, \.end)
    }

    /// Ends the results before a document, which must exist and have the fields of the query's
    /// orders.
    public func end(beforeDocument document: DocumentSnapshot) -> Query {
        cut(at: document, isInclusive: false, \.end)
    }

    private func cut(
        at fieldValues: [Any], isInclusive: Bool,
        _ side: WritableKeyPath<LarderQuery.Query, Bound?>
    ) -> Query {
        adding { (query, database) throws(LarderError) in
            let values = try fieldValues.map { value throws(LarderError) in
                try Value(comparing: value)
            }
            var query = query
            query[keyPath: side] = try query.bound(
                at: values, isInclusive: isInclusive, in: database)
            return query
        }
    }

    private func cut(
        at snapshot: DocumentSnapshot, isInclusive: Bool,
        _ side: WritableKeyPath<LarderQuery.Query, Bound?>
    ) -> Query {
        adding { (query, database) throws(LarderError) in
            guard snapshot.firestore.databaseID == database else {
                throw .invalidArgument(
                    "A query of \(database) cannot begin or end at a document of "
                        + "\(snapshot.firestore.databaseID).")
            }
            guard let document = snapshot.existingDocument else {
                throw .invalidArgument(
                    "A query cannot begin or end at '\(snapshot.path)', which does not exist.")
            }
            if case .collection(let collection) = query.source,
                collection != document.path.parent
            {
                throw .invalidArgument(
                    "A query of '\(collection)' cannot begin or end at '\(snapshot.path)', "
                        + "which is in another collection.")
            }
            var query = query
            query[keyPath: side] = try query.bound(
                at: document, isInclusive: isInclusive, in: database)
            return query
        }
    }
}
