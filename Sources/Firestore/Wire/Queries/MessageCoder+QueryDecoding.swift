package import LarderModel
package import LarderQuery
import SwiftProtobuf

extension MessageCoder {
    /// Decodes a request to run a query.
    ///
    /// - Throws: as ``decode(_:below:)``.
    package func decode(_ request: Google_Firestore_V1_RunQueryRequest)
        throws(LarderError) -> QuerySelection
    {
        guard case .structuredQuery(let query)? = request.queryType else {
            throw .invalidArgument("only structured queries are supported")
        }
        return try decode(query, below: request.parent, allowsNearest: true)
    }

    /// Decodes a query.
    ///
    /// - Parameters:
    ///   - message: the query.
    ///   - parent: the name of the parent document, or of the root.
    ///   - allowsNearest: true if the query may search for nearest vectors.
    /// - Throws: `invalidArgument` for an invalid query, as the service refuses it; `unimplemented`
    ///   for a query of all collections, of a collection group below a document, or for nearest
    ///   vectors.
    package func decode(
        _ message: Google_Firestore_V1_StructuredQuery, below parent: String,
        allowsNearest: Bool = false
    ) throws(LarderError) -> QuerySelection {
        guard allowsNearest || !message.hasFindNearest else {
            throw .unimplemented("a search for nearest vectors in this request")
        }
        guard message.offset >= 0, !message.hasLimit || message.limit.value >= 0 else {
            throw .invalidArgument("the limit or offset of a query is negative")
        }
        let parent = try decode(parent: parent)
        var query = Query(try source(message.from, below: parent))
        query.explicitOrders = try orders(message.orderBy)
        var filters = DecodedFilters()
        if message.hasWhere {
            filters = try decode(
                message.where,
                budget: limits.maxQueryParts - query.explicitOrders.count - (parent == nil ? 0 : 1))
        }
        query.filters = filters.sent
        let isEmpty = message.hasLimit && message.limit.value == 0
        if message.hasLimit, !isEmpty { query.limit = .first(Int(message.limit.value)) }
        // The messages here and below are Firestore's.
        for cursor in [message.startAt, message.endAt]
        where cursor.values.count > message.orderBy.count {
            throw .invalidArgument("Cursor has too many values.")
        }
        if message.hasStartAt { try read(message.startAt, isStart: true, &query.start, &filters) }
        if message.hasEndAt { try read(message.endAt, isStart: false, &query.end, &filters) }
        try query.validate()
        for bound in [query.start, query.end].compactMap(\.self) {
            for (value, order) in zip(bound.values, query.orders) where order.path.isDocumentID {
                try checkNames(in: value)
            }
        }
        let disjunctionCount = query.disjunctionCount
        guard disjunctionCount <= limits.maxDisjunctions else {
            throw .invalidArgument(
                "Too many disjunctions after normalization. Result had \(disjunctionCount) "
                    + "disjunctions which is more than the maximum of \(limits.maxDisjunctions)")
        }
        query.filters = filters.evaluated
        try query.validateForService()
        return QuerySelection(
            query, offset: Int(message.offset), mask: try mask(message), isEmpty: isEmpty,
            nearest: try nearest(message))
    }

    /// Reads a cursor; one without values is before or after all documents.
    private func read(
        _ cursor: Google_Firestore_V1_Cursor, isStart: Bool, _ bound: inout Bound?,
        _ filters: inout DecodedFilters
    ) throws(LarderError) {
        if !cursor.values.isEmpty {
            bound = try self.bound(cursor, isStart: isStart)
        } else if cursor.before != isStart {
            filters.evaluated.append(.or([]))
        }
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
            throw .invalidName("the collection ID '\(selector.collectionID)' contains a slash")
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
        return try messages.map { message throws(LarderError) in
            let path = try decode(fieldPath: message.field.fieldPath)
            switch message.direction {
            case .unspecified, .ascending: return Order(path)
            case .descending: return Order(path, isDescending: true)
            case .UNRECOGNIZED:
                throw .invalidArgument("the order by '\(path)' has an unknown direction")
            }
        }
    }

    private func bound(_ cursor: Google_Firestore_V1_Cursor, isStart: Bool)
        throws(LarderError) -> Bound
    {
        guard cursor.values.count <= limits.maxQueryParts + 1 else {
            throw .invalidArgument("a query bound has \(cursor.values.count) values")
        }
        return Bound(try decode(cursor.values), isInclusive: cursor.before == isStart)
    }

    private func mask(_ message: Google_Firestore_V1_StructuredQuery)
        throws(LarderError) -> FieldMask?
    {
        guard message.hasSelect, !message.select.fields.isEmpty else { return nil }
        return FieldMask(
            try message.select.fields.map { field throws(LarderError) in
                try decode(fieldPath: field.fieldPath)
            })
    }
}

extension LarderError {
    /// The error for a feature of Firestore that Larder lacks.
    static func unimplemented(_ what: String) -> LarderError {
        LarderError(.unimplemented, "\(what) is not implemented")
    }
}

// MARK: - Orders

extension MessageCoder {
    /// Decodes orders in text form: `a.b desc, __name__`.
    ///
    /// - Throws: `invalidArgument` unless the text consists of field paths separated by commas,
    ///   each optionally followed by `asc` or `desc`.
    package func decode(orderBy text: String) throws(LarderError) -> [Order] {
        guard text.utf8.contains(where: { $0 != UInt8(ascii: " ") }) else { return [] }
        var orders: [Order] = []
        for part in Self.split(text.utf8[...], at: ",") {
            let words = Self.split(part, at: " ").filter { !$0.isEmpty }
            guard let path = words.first, words.count <= 2,
                let isDescending = Self.isDescending(words.dropFirst().first)
            else { throw .invalidArgument("'\(text.prefix(200))' is not a list of orders") }
            orders.append(
                Order(
                    try decode(fieldPath: String(Substring(path))), isDescending: isDescending))
        }
        guard orders.count <= limits.maxQueryParts else {
            throw .invalidArgument(
                "a query has more than \(limits.maxQueryParts) filters and orders")
        }
        return orders
    }

    /// The meaning of a direction; nil for an unknown word.
    private static func isDescending(_ word: Substring.UTF8View?) -> Bool? {
        guard let word else { return false }
        return switch Substring(word).lowercased() {
        case "asc": false
        case "desc": true
        default: nil
        }
    }

    /// Splits at separators outside of backticks.
    private static func split(_ text: Substring.UTF8View, at separator: Unicode.Scalar)
        -> [Substring.UTF8View]
    {
        var (parts, start) = ([Substring.UTF8View](), text.startIndex)
        var (isQuoted, isEscaped) = (false, false)
        for position in text.indices {
            let byte = text[position]
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "`") {
                isQuoted.toggle()
            } else if byte == UInt8(ascii: separator), !isQuoted {
                parts.append(text[start..<position])
                start = text.index(after: position)
            }
        }
        return parts + [text[start...]]
    }
}
