package import LarderModel

/// The encoded target: a record, so that the storage core validates it, with these fields.
///
///     version            1
///     collection, group or document      the path or ID
///     filters            flattened, each composite before its parts:
///                        {path, op, value}, {and: number of parts}, {or: number of parts}
///     orders             {path, descending}
///     limit              optional
///     start, end         {values, inclusive}, optional
extension QueryTarget {
    private static let version: Int64 = 1

    /// Encodes the target for the table of targets.
    ///
    /// - Throws: `invalidArgument` for values or filters that ``Query/validate()`` rejects.
    package func encoded() throws(LarderError) -> [UInt8] {
        var fields: MapValue = ["version": .integer(Self.version)]
        switch source {
        case .collection(let path): fields["collection"] = .string(path.string)
        case .group(let id): fields["group"] = .string(id)
        case .document(let path): fields["document"] = .string(path.string)
        }
        try Filter.checkDepth(of: filters)
        fields["filters"] = .array(filters.flatMap(\.encodedParts))
        fields["orders"] = .array(orders.map(\.encoded))
        fields["limit"] = limit.map { .integer(Int64($0)) }
        fields["start"] = start?.encoded
        fields["end"] = end?.encoded
        return try Record(fields).bytes
    }

    /// Decodes a target.
    ///
    /// - Throws: `dataLoss` for malformed bytes; `failedPrecondition` for a newer version's target.
    package init(decoding bytes: [UInt8]) throws(LarderError) {
        let fields: MapValue
        do {
            fields = try Record(validating: bytes, maxDepth: 128, maxBytes: .max).fields
        } catch {
            throw .malformedTarget(cause: error)
        }
        guard case .integer(let version)? = fields["version"], version > 0 else {
            throw .malformedTarget()
        }
        guard version == Self.version else {
            throw LarderError(
                .failedPrecondition, "a newer version stored this target",
                condition: .newerFormat)
        }
        var filters = EncodedFilters(try fields["filters"].array())
        let target = QueryTarget(
            source: try Self.source(in: fields), filters: try filters.all(),
            orders: try fields["orders"].array().map(Order.init(decoding:)),
            limit: try Self.limit(in: fields),
            start: try fields["start"].map(Bound.init(decoding:)),
            end: try fields["end"].map(Bound.init(decoding:)))
        let bounds = [target.start, target.end].compactMap(\.self)
        guard target.query.orders == target.orders,
            bounds.allSatisfy({ $0.values.count <= target.orders.count })
        else { throw .malformedTarget() }
        self = target
    }

    private static func source(in fields: MapValue) throws(LarderError) -> Query.Source {
        do throws(LarderError) {
            switch (fields["collection"], fields["group"], fields["document"]) {
            case (.string(let path)?, nil, nil):
                return .collection(try CollectionPath(stored: path))
            case (nil, .string(let id)?, nil): return .group(id)
            case (nil, nil, .string(let path)?): return .document(try DocumentPath(stored: path))
            default: throw .malformedTarget()
            }
        } catch {
            throw .malformedTarget(cause: error)
        }
    }

    private static func limit(in fields: MapValue) throws(LarderError) -> Int? {
        switch fields["limit"] {
        case nil: return nil
        case .integer(let limit)? where limit > 0: return Int(limit)
        default: throw .malformedTarget()
        }
    }
}

extension Filter {
    /// The filter and its parts, composites before their parts.
    fileprivate var encodedParts: [Value] {
        switch self {
        case .field(let filter):
            [
                [
                    "path": .string(filter.path.canonicalString),
                    "op": .string(filter.op.rawValue), "value": filter.value,
                ]
            ]
        case .and(let filters):
            [["and": .integer(Int64(filters.count))]] + filters.flatMap(\.encodedParts)
        case .or(let filters):
            [["or": .integer(Int64(filters.count))]] + filters.flatMap(\.encodedParts)
        }
    }
}

private struct EncodedFilters {
    private var parts: ArraySlice<Value>

    init(_ parts: [Value]) {
        self.parts = parts[...]
    }

    mutating func all() throws(LarderError) -> [Filter] {
        var filters: [Filter] = []
        while !parts.isEmpty { filters.append(try next(depth: 1)) }
        return filters
    }

    private mutating func next(depth: Int) throws(LarderError) -> Filter {
        guard depth <= Filter.maxDepth, let part = parts.popFirst() else {
            throw .malformedTarget()
        }
        let fields = try Optional(part).map()
        switch (fields["and"], fields["or"]) {
        case (.integer(let count)?, nil): return .and(try several(count, depth: depth))
        case (nil, .integer(let count)?): return .or(try several(count, depth: depth))
        default: break
        }
        guard let op = FieldFilter.Operator(rawValue: try fields["op"].string()),
            let value = fields["value"]
        else { throw .malformedTarget() }
        return .field(FieldFilter(try fields["path"].fieldPath(), op, value))
    }

    private mutating func several(_ count: Int64, depth: Int) throws(LarderError) -> [Filter] {
        guard count >= 0, count <= parts.count else { throw .malformedTarget() }
        return try (0..<count).map { _ throws(LarderError) in try next(depth: depth + 1) }
    }
}

extension Order {
    fileprivate var encoded: Value {
        ["path": .string(path.canonicalString), "descending": .boolean(isDescending)]
    }

    fileprivate init(decoding value: Value) throws(LarderError) {
        let fields = try Optional(value).map()
        self.init(
            try fields["path"].fieldPath(), isDescending: try fields["descending"].boolean())
    }
}

extension Bound {
    fileprivate var encoded: Value {
        ["values": .array(values), "inclusive": .boolean(isInclusive)]
    }

    fileprivate init(decoding value: Value) throws(LarderError) {
        let fields = try Optional(value).map()
        self.init(
            try fields["values"].array(), isInclusive: try fields["inclusive"].boolean())
    }
}

/// Values of the expected types; otherwise the target is malformed.
extension Value? {
    fileprivate func array() throws(LarderError) -> [Value] {
        guard case .array(let values)? = self else { throw .malformedTarget() }
        return values
    }

    fileprivate func map() throws(LarderError) -> MapValue {
        guard case .map(let entries)? = self else { throw .malformedTarget() }
        return entries
    }

    fileprivate func string() throws(LarderError) -> String {
        guard case .string(let text)? = self else { throw .malformedTarget() }
        return text
    }

    fileprivate func boolean() throws(LarderError) -> Bool {
        guard case .boolean(let boolean)? = self else { throw .malformedTarget() }
        return boolean
    }

    fileprivate func fieldPath() throws(LarderError) -> FieldPath {
        do {
            return try FieldPath(canonical: string())
        } catch {
            throw .malformedTarget(cause: error)
        }
    }
}

extension LarderError {
    fileprivate static func malformedTarget(cause: LarderError? = nil) -> LarderError {
        LarderError(
            .dataLoss, "an encoded target is malformed", condition: .corrupt, cause: cause)
    }
}
