import LarderModel
import LarderQuery

/// A question about the documents of a collection or a collection group: which match, in what
/// order, how many.
///
/// Immutable: every method that narrows it gives a new query. What Apple's SDK stops the program
/// over (conflicting filters, a limit of 0, an order behind a cursor) the new query keeps as an
/// error; whatever is asked of it, or of a query made from it, reports that first error as
/// `invalidArgument`.
public class Query: @unchecked Sendable {
    // Immutable; not final only because CollectionReference is a query, as in Apple's SDK.

    /// The database that is asked.
    public let firestore: Firestore

    /// The query as data, or what was wrong in the making of it.
    let content: Result<LarderQuery.Query, LarderError>

    init(_ firestore: Firestore, _ content: Result<LarderQuery.Query, LarderError>) {
        self.firestore = firestore
        self.content = content
    }

    /// The query as data, when it can be asked.
    var executable: Result<LarderQuery.Query, LarderError> {
        content.flatMap { query in
            Result { () throws(LarderError) in
                try query.validateForExecution()
                return query
            }
        }
    }

    /// Where it looks.
    var place: Result<LarderQuery.Query.Source, LarderError> { content.map { $0.source } }

    /// A query with something added to this one.
    func adding(
        _ change: (LarderQuery.Query, DatabaseID) throws(LarderError) -> LarderQuery.Query
    ) -> Query {
        Query(
            firestore,
            content.flatMap { query in
                Result { () throws(LarderError) in try change(query, firestore.databaseID) }
            })
    }
}

extension Query: Hashable {
    /// Whether both ask the same of the same database object.
    public static func == (left: Query, right: Query) -> Bool {
        guard left.firestore === right.firestore else { return false }
        return switch (left.content, right.content) {
        case (.success(let left), .success(let right)): left == right
        case (.failure(let left), .failure(let right)): left == right
        default: false
        }
    }

    /// Hashes the question.
    public func hash(into hasher: inout Hasher) {
        if case .success(let query) = content { hasher.combine(query) }
    }
}

// MARK: - Ordering

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

// MARK: - Cursors

extension Query {
    /// This query's documents from a place in its order on, what lies there included.
    ///
    /// The values are those of the query's orders, one for each or for the first of them; for the
    /// document id a string.
    public func start(at fieldValues: [Any]) -> Query {
        cut(at: fieldValues, isInclusive: true, \.start)
    }

    /// This query's documents behind a place in its order.
    public func start(after fieldValues: [Any]) -> Query {
        cut(at: fieldValues, isInclusive: false, \.start)
    }

    /// This query's documents up to a place in its order, what lies there included.
    public func end(at fieldValues: [Any]) -> Query {
        cut(at: fieldValues, isInclusive: true, \.end)
    }

    /// This query's documents before a place in its order.
    public func end(before fieldValues: [Any]) -> Query {
        cut(at: fieldValues, isInclusive: false, \.end)
    }

    /// This query's documents from a document on; it must exist and have the query's fields.
    public func start(atDocument document: DocumentSnapshot) -> Query {
        cut(at: document, isInclusive: true, \.start)
    }

    /// This query's documents behind a document; it must exist and have the query's fields.
    public func start(afterDocument document: DocumentSnapshot) -> Query {
        cut(at: document, isInclusive: false, \.start)
    }

    /// This query's documents up to a document; it must exist and have the query's fields.
    public func end(atDocument document: DocumentSnapshot) -> Query {
        cut(at: document, isInclusive: true, \.end)
    }

    /// This query's documents before a document; it must exist and have the query's fields.
    public func end(beforeDocument document: DocumentSnapshot) -> Query {
        cut(at: document, isInclusive: false, \.end)
    }

    private func cut(
        at fieldValues: [Any], isInclusive: Bool,
        _ side: WritableKeyPath<LarderQuery.Query, Bound?>
    ) -> Query {
        adding { (query, database) throws(LarderError) in
            var values: [Value] = []
            for value in fieldValues { values.append(try Value(comparing: value)) }
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
