import LarderModel
import LarderQuery

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
