import LarderCore
import LarderModel
import LarderQuery

extension Query {
    /// A query of a bundle: a parent, a `google.firestore.v1.StructuredQuery` in JSON, and the end
    /// that its limit counts from.
    ///
    /// - Throws: `invalidArgument` for a malformed or unsupported query, and for names of another
    ///   database.
    init(bundled node: JSONValue, in database: DatabaseID) throws(LarderError) {
        guard let structured = node.member("structuredQuery") else {
            throw .malformedBundle("a query without its structure")
        }
        guard try structured.integer("offset") == 0 else {
            throw .malformedBundle("a query with an offset")
        }
        var query = Query(
            try Self.source(structured, below: node.string("parent"), in: database),
            filters: try Self.filters(structured), orders: try Self.orders(structured),
            limit: try Self.limit(structured, node.string("limitType")))
        query.start = try Bound(structured.member("startAt"), isInclusiveBefore: true)
        query.end = try Bound(structured.member("endAt"), isInclusiveBefore: false)
        do {
            try query.validate()
        } catch {
            throw .malformedBundle("a query that cannot be asked", cause: error)
        }
        self = query
    }

    private static func source(
        _ structured: JSONValue, below parent: String, in database: DatabaseID
    ) throws(LarderError) -> Source {
        let root = "\(database)/documents"
        let path = String(Substring(parent.utf8.dropFirst(root.utf8.count)))
        guard parent.utf8.starts(with: root.utf8),
            path.isEmpty || path.utf8.first == UInt8(ascii: "/")
        else {
            throw .malformedBundle(
                "a query below '\(parent)', which is neither '\(root)' nor a document in it")
        }
        let selectors = try structured.array("from")
        guard selectors.count <= 1 else { throw .malformedBundle("a query of two collections") }
        do throws(LarderError) {
            guard let selector = selectors.first else {
                return .document(try DocumentPath(path))
            }
            let id = try selector.string("collectionId")
            guard try selector.boolean("allDescendants") else {
                return .collection(try CollectionPath(path.isEmpty ? id : "\(path)/\(id)"))
            }
            guard path.isEmpty else {
                throw .malformedBundle("a query of a group below a document")
            }
            return .group(id)
        } catch {
            throw .malformedBundle("a query of a place that there is not", cause: error)
        }
    }

    /// The filters; a conjunction of conditions is flattened.
    private static func filters(_ structured: JSONValue) throws(LarderError) -> [Filter] {
        guard let filter = try structured.member("where").map(Filter.init(json:)) else { return [] }
        guard case .and(let filters) = filter else { return [filter] }
        return filters.allSatisfy(\.isCondition) ? filters : [filter]
    }

    private static func orders(_ structured: JSONValue) throws(LarderError) -> [Order] {
        var orders: [Order] = []
        for node in try structured.array("orderBy") {
            let direction = try node.string("direction")
            guard ["", "DIRECTION_UNSPECIFIED", "ASCENDING", "DESCENDING"].contains(direction)
            else {
                throw .malformedBundle("an order of an unknown direction")
            }
            orders.append(
                Order(try FieldPath(json: node), isDescending: direction == "DESCENDING"))
        }
        return orders
    }

    private static func limit(_ structured: JSONValue, _ type: String) throws(LarderError) -> Limit?
    {
        guard let node = structured.member("limit") else { return nil }
        let count =
            if case .object = node { try node.integer("value") } else { try node.integer() }
        switch type {
        case "", "FIRST": return .first(Int(count))
        case "LAST": return .last(Int(count))
        default: throw .malformedBundle("a limit of an unknown type")
        }
    }
}

extension Filter {
    fileprivate var isCondition: Bool {
        if case .field = self { true } else { false }
    }

    fileprivate init(json node: JSONValue) throws(LarderError) {
        guard case .object(let members) = node, members.count == 1, let member = members.first
        else { throw .malformedBundle("a filter is no object of one member") }
        let content = member.value
        switch member.name {
        case "compositeFilter":
            var filters: [Filter] = []
            for filter in try content.array("filters") { filters.append(try Filter(json: filter)) }
            switch try content.string("op") {
            case "AND": self = .and(filters)
            case "OR": self = .or(filters)
            default: throw .malformedBundle("a filter of an unknown operator")
            }
        case "unaryFilter":
            let path = try FieldPath(json: content)
            switch try content.string("op") {
            case "IS_NAN": self = .field(FieldFilter(path, .equal, .double(.nan)))
            case "IS_NOT_NAN": self = .field(FieldFilter(path, .notEqual, .double(.nan)))
            case "IS_NULL": self = .field(FieldFilter(path, .equal, .null))
            case "IS_NOT_NULL": self = .field(FieldFilter(path, .notEqual, .null))
            default: throw .malformedBundle("a filter of an unknown operator")
            }
        case "fieldFilter":
            guard let op = FieldFilter.Operator(json: try content.string("op")),
                let value = content.member("value")
            else { throw .malformedBundle("a filter without operator or value") }
            self = .field(FieldFilter(try FieldPath(json: content), op, try Value(json: value)))
        default: throw .malformedBundle("an unknown filter")
        }
    }
}

extension FieldFilter.Operator {
    fileprivate init?(json name: String) {
        switch name {
        case "LESS_THAN": self = .lessThan
        case "LESS_THAN_OR_EQUAL": self = .lessThanOrEqual
        case "EQUAL": self = .equal
        case "NOT_EQUAL": self = .notEqual
        case "GREATER_THAN": self = .greaterThan
        case "GREATER_THAN_OR_EQUAL": self = .greaterThanOrEqual
        case "ARRAY_CONTAINS": self = .arrayContains
        case "ARRAY_CONTAINS_ANY": self = .arrayContainsAny
        case "IN": self = .in
        case "NOT_IN": self = .notIn
        default: return nil
        }
    }
}

extension Bound {
    /// A start or an end, by `isInclusiveBefore`: an inclusive start lies before its values, an
    /// inclusive end after them.
    fileprivate init?(_ node: JSONValue?, isInclusiveBefore: Bool) throws(LarderError) {
        guard let node else { return nil }
        var values: [Value] = []
        for value in try node.array("values") { values.append(try Value(json: value)) }
        self.init(values, isInclusive: try node.boolean("before") == isInclusiveBefore)
    }
}

extension FieldPath {
    /// The path of the `field` of an order or a filter.
    fileprivate init(json node: JSONValue) throws(LarderError) {
        do throws(LarderError) {
            try self.init(canonical: node.member("field")?.string("fieldPath") ?? "")
        } catch {
            throw .malformedBundle("a malformed path of a field", cause: error)
        }
    }
}
