package import LarderModel
import LarderQuery
import SwiftProtobuf

extension MessageCoder {
    /// What a request asks for.
    ///
    /// - Throws: as ``decode(_:below:)``.
    package func decode(_ request: Google_Firestore_V1_RunQueryRequest)
        throws(LarderError) -> QuerySelection
    {
        guard case .structuredQuery(let query)? = request.queryType else {
            throw .invalidArgument("the request has no query")
        }
        return try decode(query, below: request.parent)
    }

    /// What a query asks for.
    ///
    /// - Parameters:
    ///   - message: the query.
    ///   - parent: the name of the document that it looks below, or of the root.
    /// - Throws: `invalidArgument` for a query that is not sound or breaks a bound;
    ///   `unimplemented` for one of all collections, of a group below a document, and for nearest
    ///   vectors.
    package func decode(_ message: Google_Firestore_V1_StructuredQuery, below parent: String)
        throws(LarderError) -> QuerySelection
    {
        guard !message.hasFindNearest else { throw .unimplemented("a search for nearest vectors") }
        guard message.offset >= 0, !message.hasLimit || message.limit.value >= 0 else {
            throw .invalidArgument("a limit or an offset of a query is below 0")
        }
        let parent = try decode(parent: parent)
        var query = Query(try source(message.from, below: parent))
        query.explicitOrders = try orders(message.orderBy)
        if message.hasWhere {
            var budget =
                limits.maxQueryParts - query.explicitOrders.count - (parent == nil ? 0 : 1)
            query.filters = try decode(message.where, budget: &budget)
        }
        let isEmpty = message.hasLimit && message.limit.value == 0
        if message.hasLimit, !isEmpty { query.limit = .first(Int(message.limit.value)) }
        if message.hasStartAt { query.start = try bound(message.startAt, isStart: true) }
        if message.hasEndAt { query.end = try bound(message.endAt, isStart: false) }
        try query.validate()
        for bound in [query.start, query.end].compactMap(\.self) {
            for (value, order) in zip(bound.values, query.orders) where order.path.isDocumentID {
                try checkNames(in: value)
            }
        }
        // Firestore's words here and below.
        for cursor in [message.startAt, message.endAt]
        where cursor.values.count > message.orderBy.count {
            throw .invalidArgument("Cursor has too many values.")
        }
        let disjunctionCount = query.disjunctionCount
        guard disjunctionCount <= limits.maxDisjunctions else {
            throw .invalidArgument(
                "Too many disjunctions after normalization. Result had \(disjunctionCount) "
                    + "disjunctions which is more than the maximum of \(limits.maxDisjunctions)")
        }
        return QuerySelection(
            query, offset: Int(message.offset), mask: try mask(message), isEmpty: isEmpty)
    }

    private func source(
        _ selectors: [Google_Firestore_V1_StructuredQuery.CollectionSelector],
        below parent: DocumentPath?
    ) throws(LarderError) -> Query.Source {
        guard selectors.count <= 1 else {
            throw .invalidArgument("a query has \(selectors.count) collection selectors")
        }
        guard let selector = selectors.first, !selector.collectionID.isEmpty else {
            throw .unimplemented("a query of all collections")
        }
        guard !selector.collectionID.utf8.contains(UInt8(ascii: "/")) else {
            throw .invalidName("the collection id '\(selector.collectionID)' has a slash")
        }
        if !selector.allDescendants, let parent {
            return .collection(try parent.collection(selector.collectionID))
        }
        let collection = try CollectionPath(selector.collectionID)
        guard selector.allDescendants else { return .collection(collection) }
        guard parent == nil else {
            throw .unimplemented("a query of a collection group below a document")
        }
        return .group(collection.id)
    }

    private func orders(_ messages: [Google_Firestore_V1_StructuredQuery.Order])
        throws(LarderError) -> [Order]
    {
        guard messages.count <= limits.maxQueryParts else {
            throw .invalidArgument(
                "a query has more than \(limits.maxQueryParts) filters and orders")
        }
        var orders: [Order] = []
        for message in messages {
            let path = try decode(fieldPath: message.field.fieldPath)
            switch message.direction {
            case .unspecified, .ascending: orders.append(Order(path))
            case .descending: orders.append(Order(path, isDescending: true))
            case .UNRECOGNIZED:
                throw .invalidArgument("the order by '\(path)' has no known direction")
            }
        }
        return orders
    }

    /// A start that lies before its values includes them, an end does not.
    private func bound(_ cursor: Google_Firestore_V1_Cursor, isStart: Bool)
        throws(LarderError) -> Bound
    {
        guard cursor.values.count <= limits.maxQueryParts + 1 else {
            throw .invalidArgument("a bound of a query has \(cursor.values.count) values")
        }
        return Bound(try decode(cursor.values), isInclusive: cursor.before == isStart)
    }

    private func mask(_ message: Google_Firestore_V1_StructuredQuery)
        throws(LarderError) -> FieldMask?
    {
        guard message.hasSelect, !message.select.fields.isEmpty else { return nil }
        var paths: [FieldPath] = []
        for field in message.select.fields { paths.append(try decode(fieldPath: field.fieldPath)) }
        return FieldMask(paths)
    }
}
