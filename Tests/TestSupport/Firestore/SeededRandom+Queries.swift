package import LarderModel
package import LarderQuery

extension SeededRandom {
    /// A value that others are often equal to, close to, or of one place with.
    package mutating func planningValue() -> Value {
        switch below(16) {
        case 0: .null
        case 1: .double(.nan)
        case 2: .boolean(oneIn(2))
        case 3...6: .integer(Int64(below(5)))
        case 7: .double(Double(below(10)) / 2)
        case 8: .double(-0.0)
        case 9, 10: .string(pick(["", "x", "y", "z"]))
        case 11:
            .string(String(repeating: "l", count: 236) + pick(["", "x", "xx", "xxxx", "yyyyyyy"]))
        case 12: .array((0..<below(4)).map { _ in planningElement() })
        case 13: .timestamp(Timestamp(seconds: Int64(below(3)), nanoseconds: 0))
        case 14: .map(["k": .integer(Int64(below(2)))])
        default: .bytes([UInt8(below(3))])
        }
    }

    /// What arrays of documents and conditions on them have.
    package mutating func planningElement() -> Value {
        pick([1, 2, 1.0, "x", "y", .null, .string(String(repeating: "e", count: 250))] as [Value])
    }

    /// Fields with values of this kind, some of them missing.
    package mutating func planningFields() -> MapValue {
        var fields = MapValue()
        for name in ["a", "b", "c"] where !oneIn(5) { fields[name] = planningValue() }
        if !oneIn(4) {
            fields["tags"] =
                oneIn(6) ? planningValue() : .array((0..<below(5)).map { _ in planningElement() })
        }
        if !oneIn(3) { fields["m"] = oneIn(6) ? 1 : .map(["x": planningValue()]) }
        return fields
    }

    private mutating func planningFilter(_ fields: [FieldPath]) -> Filter {
        let path = pick(fields)
        switch below(12) {
        case 0...3: return .field(FieldFilter(path, .equal, planningValue()))
        case 4: return .field(FieldFilter(path, .lessThan, planningValue()))
        case 5: return .field(FieldFilter(path, .lessThanOrEqual, planningValue()))
        case 6: return .field(FieldFilter(path, .greaterThan, planningValue()))
        case 7: return .field(FieldFilter(path, .greaterThanOrEqual, planningValue()))
        case 8:
            return .field(
                oneIn(2)
                    ? FieldFilter(path, .notEqual, planningValue())
                    : FieldFilter(path, .notIn, .array((0...below(3)).map { _ in planningValue() }))
            )
        case 9:
            return .field(
                FieldFilter(path, .in, .array((0...below(4)).map { _ in planningValue() })))
        case 10:
            return .field(FieldFilter(fields[3], .arrayContains, planningElement()))
        default:
            return .field(
                FieldFilter(
                    fields[3], .arrayContainsAny,
                    .array((0...below(3)).map { _ in planningElement() })))
        }
    }

    private mutating func planningFilter(_ fields: [FieldPath], depth: Int) -> Filter {
        guard depth > 0, oneIn(4) else { return planningFilter(fields) }
        let filters = (0...below(3)).map { _ in planningFilter(fields, depth: depth - 1) }
        return oneIn(2) ? .or(filters) : .and(filters)
    }

    private mutating func nameFilter(_ names: [Value]) -> Filter {
        let op = pick([
            FieldFilter.Operator.equal, .lessThan, .greaterThanOrEqual, .greaterThan, .in,
            .lessThanOrEqual, .notEqual, .notIn,
        ])
        let isList = op == .in || op == .notIn
        return .field(
            FieldFilter(
                .documentID, op,
                isList ? .array((0...below(4)).map { _ in pick(names) }) : pick(names)))
    }

    /// A query that planning may answer in many ways.
    package mutating func planningQuery(
        _ fields: [FieldPath], _ collections: [CollectionPath], names: [Value]
    ) -> Query {
        var query = Query(oneIn(3) ? .group("rooms") : .collection(pick(collections)))
        query.filters = (0..<below(4)).map { _ in planningFilter(fields, depth: 2) }
        if oneIn(6) { query.filters.append(nameFilter(names)) }
        var paths = fields.shuffled(using: &self).prefix(below(3))
        if oneIn(8) { paths.append(.documentID) }
        let isDescending = oneIn(2)
        query.explicitOrders = paths.map {
            Order($0, isDescending: oneIn(5) ? !isDescending : isDescending)
        }
        if oneIn(2) { query.limit = oneIn(3) ? .last(1 + below(8)) : .first(1 + below(8)) }
        let orders = query.orders
        func bound() -> Bound? {
            guard oneIn(4) else { return nil }
            let count = 1 + below(orders.count)
            return Bound(
                orders.prefix(count).map { $0.path.isDocumentID ? pick(names) : planningValue() },
                isInclusive: oneIn(2))
        }
        query.start = bound()
        query.end = bound()
        return query
    }
}
