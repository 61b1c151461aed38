import LarderModel
import LarderQuery

extension SpecNode {
    /// A value as applications write it in JSON: numbers without a fraction are integers.
    func modelValue() throws -> Value { Self.modelValue(value) }

    private static func modelValue(_ json: JSONValue) -> Value {
        switch json {
        case .null: .null
        case .bool(let flag): .boolean(flag)
        case .integer(let number): .integer(number)
        case .double(let number): .double(number)
        case .string(let text): .string(text)
        case .array(let elements): .array(elements.map(modelValue))
        case .object(let members): .map(MapValue(members.mapValues(modelValue)))
        }
    }

    /// The fields of a document.
    func fields() throws -> MapValue {
        guard case .map(let fields) = try modelValue() else { throw failure("is not an object") }
        return fields
    }

    func documentPath() throws -> DocumentPath { try DocumentPath(string()) }

    func documentPaths() throws -> [DocumentPath] { try array().map { try $0.documentPath() } }

    /// A version in microseconds.
    func version() throws -> SnapshotVersion {
        let microseconds = try integer(Int64.self)
        return SnapshotVersion(
            try Timestamp(
                validatingSeconds: microseconds / 1_000_000,
                nanoseconds: Int32(microseconds % 1_000_000) * 1000))
    }

    func targetIDs() throws -> [Int32] { try array().map { try $0.integer(Int32.self) } }

    /// A token: the bytes of a string.
    func token() throws -> [UInt8] { Array(try string().utf8) }

    /// A status, of which the message may be missing.
    func status() throws -> LarderError {
        try object { status in
            let code = try status.take("code").integer(Int.self)
            let message = try status.takeIfPresent("message")?.string() ?? "made by the test"
            return LarderError(LarderError.Code(rawValue: code), message)
        }
    }

    /// A query: a path alone, or an object.
    func query() throws -> Query {
        if case .string(let path) = value { return Query(try source(path)) }
        return try object { spec in
            let path = try spec.take("path")
            let group = try spec.takeIfPresent("collectionGroup")?.string()
            var query = Query(try group.map(Query.Source.group) ?? path.source(path.string()))
            for filter in try spec.takeIfPresent("filters")?.array() ?? [] {
                query = try query.adding(filter.filter(), in: SpecDatabase.id)
            }
            for order in try spec.takeIfPresent("orderBys")?.array() ?? [] {
                query.explicitOrders.append(try order.order())
            }
            let limit = try spec.takeIfPresent("limit")?.integer(Int.self)
            let type = spec.takeIfPresent("limitType")
            if let limit { query.limit = try type?.limit(limit) ?? .first(limit) }
            return query
        }
    }

    private func source(_ path: String) throws -> Query.Source {
        path.split(separator: "/").count.isMultiple(of: 2)
            ? .document(try DocumentPath(path)) : .collection(try CollectionPath(path))
    }

    private func limit(_ count: Int) throws -> Query.Limit {
        switch try string() {
        case "LimitToFirst": .first(count)
        case "LimitToLast": .last(count)
        default: throw failure("unknown type of limit \(value)")
        }
    }

    private func filter() throws -> Filter {
        let parts = try tuple(3)
        guard let op = FieldFilter.Operator(rawValue: try parts[1].string()) else {
            throw parts[1].failure("unknown operator \(parts[1].value)")
        }
        return .field(
            FieldFilter(try FieldPath(dotted: parts[0].string()), op, try parts[2].modelValue()))
    }

    private func order() throws -> Order {
        let parts = try tuple(2)
        let path = try FieldPath(dotted: parts[0].string())
        switch try parts[1].string() {
        case "asc": return Order(path)
        case "desc": return Order(path, isDescending: true)
        default: throw parts[1].failure("unknown direction \(parts[1].value)")
        }
    }
}

/// The database that the suites speak of; bloom filters and bundles depend on it.
enum SpecDatabase {
    static let id = DatabaseID(project: "test-project")
}
