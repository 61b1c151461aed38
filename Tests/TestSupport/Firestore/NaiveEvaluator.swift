package import LarderModel
package import LarderQuery

/// Matching and ordering of decoded values, written straight from the rules: slow, and the
/// measure of the real thing.
package struct NaiveEvaluator {
    /// The query.
    package let query: Query
    /// All orders, the implicit ones too.
    package let orders: [Order]

    /// An evaluator of a query.
    package init(_ query: Query) {
        self.query = query
        var orders = query.explicitOrders
        let last = orders.last?.isDescending ?? false
        let inequalities: [FieldFilter.Operator] = [
            .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .notEqual, .notIn,
        ]
        var paths: [FieldPath] = []
        Self.visit(query.filters) { filter in
            if inequalities.contains(filter.op), filter.path != .documentID {
                paths.append(filter.path)
            }
        }
        for path in paths.sorted() where !orders.contains(where: { $0.path == path }) {
            orders.append(Order(path, isDescending: last))
        }
        if !orders.contains(where: { $0.path == .documentID }) {
            orders.append(Order(.documentID, isDescending: last))
        }
        self.orders = orders
    }

    private static func visit(_ filters: [Filter], _ body: (FieldFilter) -> Void) {
        for filter in filters {
            switch filter {
            case .field(let filter): body(filter)
            case .and(let filters), .or(let filters): visit(filters, body)
            }
        }
    }

    /// The paths of the documents that match, in order, no more than the limit says.
    package func documents(among documents: [DocumentPath: MapValue]) -> [DocumentPath] {
        let found = documents.filter { matches($0.key, $0.value) }
            .map { (path: $0.key, fields: $0.value) }.sorted(by: isOrdered)
        let paths = found.map(\.path)
        return switch query.limit {
        case .first(let count)?: Array(paths.prefix(count))
        case .last(let count)?: Array(paths.suffix(count))
        case nil: paths
        }
    }

    /// The documents that aggregations of a field are over.
    ///
    /// Of those with the field as many as the limit says. The field is an order before the name, if
    /// the query itself does not need the name.
    package func documents(
        aggregating path: FieldPath, among documents: [DocumentPath: MapValue]
    ) -> [DocumentPath] {
        var other = query
        let needsName =
            query.explicitOrders.contains { $0.path == .documentID }
            || [query.start, query.end].contains { ($0?.values.count ?? 0) >= orders.count }
        if !needsName, !orders.contains(where: { $0.path == path }) {
            let others = orders.filter { $0.path != .documentID }
            other.explicitOrders =
                others + [Order(path, isDescending: others.last?.isDescending ?? false)]
        }
        return NaiveEvaluator(other).documents(
            among: documents.filter { $0.value.value(at: path) != nil })
    }

    /// Whether a document matches, but for the limit.
    package func matches(_ path: DocumentPath, _ fields: MapValue) -> Bool {
        switch query.source {
        case .collection(let collection):
            guard collection.contains(path) else { return false }
        case .group(let id):
            guard path.segments.dropLast().last == id else { return false }
        case .document(let document):
            guard path == document else { return false }
        }
        for order in orders where order.path != .documentID {
            guard fields.value(at: order.path) != nil else { return false }
        }
        guard query.filters.allSatisfy({ holds($0, path, fields) }) else { return false }
        if let start = query.start {
            let order = place(of: path, fields, against: start)
            guard order == 1 || order == 0 && start.isInclusive else { return false }
        }
        if let end = query.end {
            let order = place(of: path, fields, against: end)
            guard order == -1 || order == 0 && end.isInclusive else { return false }
        }
        return true
    }

    /// Whether the first document comes before the second.
    package func isOrdered(
        _ left: (path: DocumentPath, fields: MapValue),
        _ right: (path: DocumentPath, fields: MapValue)
    ) -> Bool {
        for order in orders {
            var sign: Int
            if order.path == .documentID {
                sign = left.path < right.path ? -1 : right.path < left.path ? 1 : 0
            } else {
                guard let l = left.fields.value(at: order.path),
                    let r = right.fields.value(at: order.path)
                else { return false }
                sign = l.modelOrder(to: r).signum()
            }
            if order.isDescending { sign = -sign }
            if sign != 0 { return sign < 0 }
        }
        return false
    }

    private func place(of path: DocumentPath, _ fields: MapValue, against bound: Bound) -> Int {
        for (value, order) in zip(bound.values, orders) {
            var sign: Int
            if order.path == .documentID {
                guard case .reference(let name) = value, let other = name.document else {
                    return 0
                }
                sign = path < other ? -1 : other < path ? 1 : 0
            } else {
                sign = fields.value(at: order.path)?.modelOrder(to: value).signum() ?? 0
            }
            if order.isDescending { sign = -sign }
            if sign != 0 { return sign }
        }
        return 0
    }

    private func holds(_ filter: Filter, _ path: DocumentPath, _ fields: MapValue) -> Bool {
        switch filter {
        case .and(let filters): filters.allSatisfy { holds($0, path, fields) }
        case .or(let filters): filters.contains { holds($0, path, fields) }
        case .field(let filter) where filter.path == .documentID: holds(filter, path)
        case .field(let filter): holds(filter, fields.value(at: filter.path))
        }
    }

    private func holds(_ filter: FieldFilter, _ path: DocumentPath) -> Bool {
        func other(_ value: Value) -> DocumentPath? {
            if case .reference(let name) = value { name.document } else { nil }
        }
        let listed: [DocumentPath] =
            if case .array(let values) = filter.value { values.compactMap(other) } else { [] }
        let one = other(filter.value)
        switch filter.op {
        case .equal: return path == one
        case .notEqual: return path != one
        case .lessThan: return one.map { path < $0 } ?? false
        case .lessThanOrEqual: return one.map { !($0 < path) } ?? false
        case .greaterThan: return one.map { $0 < path } ?? false
        case .greaterThanOrEqual: return one.map { !(path < $0) } ?? false
        case .in: return listed.contains(path)
        case .notIn: return !listed.contains(path)
        case .arrayContains, .arrayContainsAny: return false
        }
    }

    private func holds(_ filter: FieldFilter, _ value: Value?) -> Bool {
        guard let value else { return false }
        let given = filter.value
        let list: [Value] = if case .array(let values) = given { values } else { [] }
        let elements: [Value] = if case .array(let values) = value { values } else { [] }
        switch filter.op {
        case .equal: return value.modelOrder(to: given) == 0
        case .notEqual: return value != .null && value.modelOrder(to: given) != 0
        case .lessThan: return orders(value, given) { $0 < 0 }
        case .lessThanOrEqual: return orders(value, given) { $0 <= 0 }
        case .greaterThan: return orders(value, given) { $0 > 0 }
        case .greaterThanOrEqual: return orders(value, given) { $0 >= 0 }
        case .in: return list.contains { equals(value, $0) }
        case .notIn:
            return value != .null && !list.contains(.null) && !list.contains { equals(value, $0) }
        case .arrayContains: return elements.contains { equals($0, given) }
        case .arrayContainsAny:
            return elements.contains { element in list.contains { equals(element, $0) } }
        }
    }

    /// Whether a value counts as equal to another outside of `==` and `!=`.
    private func equals(_ value: Value, _ given: Value) -> Bool {
        given != .null && given != .double(.nan) && value.modelOrder(to: given) == 0
    }

    /// Whether two values of one type, neither of them null or NaN, are in an order.
    private func orders(_ value: Value, _ given: Value, _ isMet: (Int) -> Bool) -> Bool {
        ![value, given].contains { $0 == .null || $0 == .double(.nan) }
            && value.type.rank == given.type.rank && isMet(value.modelOrder(to: given))
    }
}
