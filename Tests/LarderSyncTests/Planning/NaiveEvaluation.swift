import Foundation
import LarderModel
import LarderQuery

@testable import LarderSync

/// A query evaluated on plain values, the slow and obvious way.
struct NaiveEvaluation {
    let query: Query
    let orders: [Order]

    init(_ query: Query) {
        self.query = query
        var orders = query.explicitOrders
        let isDescending = orders.last?.isDescending ?? false
        var paths: [FieldPath] = []
        Self.inequalities(.and(query.filters), &paths)
        for path in paths.sorted() where !orders.contains(where: { $0.path == path }) {
            orders.append(Order(path, isDescending: isDescending))
        }
        if !orders.contains(where: { $0.path.isDocumentID }) {
            orders.append(Order(.documentID, isDescending: isDescending))
        }
        self.orders = orders
    }

    /// The paths of the documents that match, in order.
    func evaluate(_ documents: [DocumentPath: MapValue]) -> [DocumentPath] {
        var found = documents.filter { matches($0.key, $0.value) }.map { ($0.key, $0.value) }
        found.sort { compare($0, $1) < 0 }
        let paths = found.map(\.0)
        switch query.limit {
        case .first(let count)?: return Array(paths.prefix(count))
        case .last(let count)?: return Array(paths.suffix(count))
        case nil: return paths
        }
    }

    private func matches(_ path: DocumentPath, _ fields: MapValue) -> Bool {
        let isInPlace =
            switch query.source {
            case .collection(let collection): path.parent == collection
            case .group(let id): path.collectionGroup == id
            case .document(let document): path == document
            }
        guard isInPlace, holds(.and(query.filters), path, fields) else { return false }
        for order in orders where !order.path.isDocumentID {
            guard fields.value(order.path) != nil else { return false }
        }
        if let start = query.start {
            let order = position(start, path, fields)
            guard order < 0 || order == 0 && start.isInclusive else { return false }
        }
        if let end = query.end {
            let order = position(end, path, fields)
            guard order > 0 || order == 0 && end.isInclusive else { return false }
        }
        return true
    }

    /// Where a bound is, seen from a document: before it, at it, behind it.
    private func position(_ bound: Bound, _ path: DocumentPath, _ fields: MapValue) -> Int {
        for (value, order) in zip(bound.values, orders) {
            var result: Int
            if order.path.isDocumentID {
                guard let name = value.namedDocument else { return 0 }
                result = name < path ? -1 : name == path ? 0 : 1
            } else {
                result = fields.value(order.path).map { value.compare(to: $0).rawValue } ?? 0
            }
            if order.isDescending { result = -result }
            if result != 0 { return result }
        }
        return 0
    }

    private func compare(_ left: (DocumentPath, MapValue), _ right: (DocumentPath, MapValue)) -> Int
    {
        for order in orders {
            var result: Int
            if order.path.isDocumentID {
                result = left.0 < right.0 ? -1 : left.0 == right.0 ? 0 : 1
            } else if let l = left.1.value(order.path), let r = right.1.value(order.path) {
                result = l.compare(to: r).rawValue
            } else {
                result = 0
            }
            if order.isDescending { result = -result }
            if result != 0 { return result }
        }
        return 0
    }

    private func holds(_ filter: Filter, _ path: DocumentPath, _ fields: MapValue) -> Bool {
        switch filter {
        case .and(let filters): filters.allSatisfy { holds($0, path, fields) }
        case .or(let filters): filters.contains { holds($0, path, fields) }
        case .field(let filter):
            filter.path.isDocumentID
                ? Self.nameHolds(filter, path)
                : fields.value(filter.path).map { Self.holds(filter, $0) } ?? false
        }
    }

    private static func nameHolds(_ filter: FieldFilter, _ path: DocumentPath) -> Bool {
        let list: [DocumentPath] =
            if case .array(let values) = filter.value { values.compactMap(\.namedDocument) } else {
                []
            }
        guard let name = filter.value.namedDocument else {
            return filter.op == .in ? list.contains(path) : !list.contains(path)
        }
        switch filter.op {
        case .equal: return path == name
        case .notEqual: return path != name
        case .lessThan: return path < name
        case .lessThanOrEqual: return path <= name
        case .greaterThan: return path > name
        case .greaterThanOrEqual: return path >= name
        default: return false
        }
    }

    private static func holds(_ filter: FieldFilter, _ value: Value) -> Bool {
        let list: [Value] = if case .array(let values) = filter.value { values } else { [] }
        let elements: [Value]? = if case .array(let values) = value { values } else { nil }
        let isOfType = value.type.rank == filter.value.type.rank
        let order = value.compare(to: filter.value)
        switch filter.op {
        case .equal: return isOfType && order == .orderedSame
        case .notEqual: return value.type != .null && order != .orderedSame
        case .lessThan: return isOfType && order == .orderedAscending
        case .lessThanOrEqual: return isOfType && order != .orderedDescending
        case .greaterThan: return isOfType && order == .orderedDescending
        case .greaterThanOrEqual: return isOfType && order != .orderedAscending
        case .arrayContains: return elements?.contains(filter.value) ?? false
        case .arrayContainsAny: return elements?.contains { list.contains($0) } ?? false
        case .in: return list.contains(value)
        case .notIn:
            return value.type != .null && !list.contains { $0.type == .null }
                && !list.contains(value)
        }
    }

    private static func inequalities(_ filter: Filter, _ paths: inout [FieldPath]) {
        switch filter {
        case .and(let filters), .or(let filters):
            for filter in filters { inequalities(filter, &paths) }
        case .field(let filter):
            switch filter.op {
            case .equal, .in, .arrayContains, .arrayContainsAny: return
            default:
                if !filter.path.isDocumentID, !paths.contains(filter.path) {
                    paths.append(filter.path)
                }
            }
        }
    }
}

extension MapValue {
    /// The value at a path.
    func value(_ path: FieldPath) -> Value? {
        var value: Value = .map(self)
        for name in path.segments {
            guard case .map(let map) = value, let next = map[name] else { return nil }
            value = next
        }
        return value
    }
}
