import LarderModel
import LarderQuery
import LarderTestSupport

/// Documents and queries from small worlds, so that they often meet.
extension SeededRandom {
    /// A document's path: mostly in `c`, with ids where the order has its edges.
    mutating func path() throws -> DocumentPath {
        let collections = ["c", "c", "c", "d", "c/x/c", "e/x/c"]
        return try DocumentPath(pick(collections) + "/" + documentID())
    }

    private mutating func documentID() -> String {
        pick(["a", "b", "B", "é", "e\u{301}", "__id7__", "__id10__", "__id-3__", "_", "~", "10"])
    }

    /// Fields of short names with values that often compare the same.
    mutating func fields() -> MapValue {
        var fields = MapValue()
        for name in ["a", "b", "c"] where !oneIn(5) { fields[name] = fieldValue() }
        if oneIn(2) { fields["m"] = ["x": fieldValue(), "y": ["z": fieldValue()]] }
        return fields
    }

    /// A value that another one often equals.
    mutating func fieldValue() -> Value {
        switch below(8) {
        case 0, 1: .integer(Int64(below(3)))
        case 2: .double(pick([0, -0.0, 1, 1.5, .nan, .infinity]))
        case 3: .string(pick(["", "a", "b", "é", "e\u{301}"]))
        case 4: .array((0..<below(3)).map { _ in small() })
        case 5: .null
        case 6: ["k": small()]
        default: value(depth: 2)
        }
    }

    private mutating func small() -> Value {
        pick([0, 1, .double(1), .null, "a", .double(.nan), .boolean(true)] as [Value])
    }

    /// A name of a field, one below a map too.
    mutating func fieldPath() -> FieldPath {
        FieldPath(unchecked: pick([["a"], ["b"], ["c"], ["m", "x"], ["m", "y", "z"]]))
    }

    /// A sound query on one of the collections.
    mutating func query() throws -> Query {
        let source: Query.Source =
            oneIn(4)
            ? .group("c") : .collection(try CollectionPath(pick(["c", "c", "d", "e/x/c"])))
        var query = Query(source)
        for _ in 0..<below(3) { query.filters.append(try filter(depth: 2)) }
        for _ in 0..<below(3) {
            let path = oneIn(4) ? FieldPath.documentID : fieldPath()
            guard !query.explicitOrders.contains(where: { $0.path == path }) else { continue }
            query.explicitOrders.append(Order(path, isDescending: oneIn(2)))
        }
        if oneIn(3) { query.start = try bound(query.orders) }
        if oneIn(3) { query.end = try bound(query.orders) }
        if oneIn(3) { query.limit = oneIn(2) ? .first(below(4) + 1) : .last(below(4) + 1) }
        return query
    }

    private mutating func bound(_ orders: [Order]) throws -> Bound {
        var values: [Value] = []
        for order in orders.prefix(below(orders.count) + 1) {
            values.append(order.path.isDocumentID ? try name() : fieldValue())
        }
        return Bound(values, isInclusive: oneIn(2))
    }

    private mutating func name() throws -> Value { try reference(path().string) }

    /// A filter, maybe with others in it.
    mutating func filter(depth: Int) throws -> Filter {
        if depth > 0, oneIn(3) {
            var parts: [Filter] = []
            for _ in 0..<below(4) { parts.append(try filter(depth: depth - 1)) }
            return oneIn(2) ? .and(parts) : .or(parts)
        }
        if oneIn(6) { return .field(try nameFilter()) }
        let op = pick(FieldFilter.Operator.allCases)
        switch op {
        case .in, .notIn, .arrayContainsAny:
            let list = (0..<below(oneIn(5) ? 40 : 4) + 1).map { _ in fieldValue() }
            return .field(FieldFilter(fieldPath(), op, .array(list)))
        case .arrayContains:
            return .field(FieldFilter(fieldPath(), op, small()))
        default:
            return .field(FieldFilter(fieldPath(), op, fieldValue()))
        }
    }

    private mutating func nameFilter() throws -> FieldFilter {
        let op = pick(
            [
                .lessThan, .lessThanOrEqual, .equal, .notEqual, .greaterThan, .greaterThanOrEqual,
                .in, .notIn,
            ] as [FieldFilter.Operator])
        guard op == .in || op == .notIn else {
            return FieldFilter(.documentID, op, try name())
        }
        var list: [Value] = []
        for _ in 0..<below(4) + 1 { list.append(try name()) }
        return FieldFilter(.documentID, op, .array(list))
    }
}
