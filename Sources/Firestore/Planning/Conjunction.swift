import LarderModel
import LarderQuery

/// Conditions that must all hold: one of the alternatives of a query's filters.
struct Conjunction: Sendable {
    var conditions: [Condition] = []
    var documentIDs: [DocumentIDCondition] = []
    /// Whether the conditions express the filters completely; otherwise some documents that meet
    /// them do not match.
    var isWhole = true

    static let anything = Conjunction(isWhole: false)

    func and(_ other: Conjunction) -> Conjunction {
        Conjunction(
            conditions: conditions + other.conditions, documentIDs: documentIDs + other.documentIDs,
            isWhole: isWhole && other.isWhole)
    }

    var count: Int { conditions.count + documentIDs.count }

    /// The condition that fixes a field's position in the order, if any.
    func constant(at path: FieldPath) -> Condition? {
        conditions.first { $0.test == .equal && $0.path == path }
    }
}

/// A query's filters in disjunctive normal form, limited in size.
///
/// Conditions beyond the limits are omitted here and tested on each document.
struct Disjunction: Sendable {
    /// The alternatives; empty if nothing can match.
    let terms: [Conjunction]
    let common: Conjunction

    private static let maxTerms = 100
    private static let maxConditions = 2000
    private static let maxDepth = 64
    private static let maxNodes = 5000

    init(_ filters: [Filter]) {
        // Filters may share parts, so that traversing even a small one could take exponential time.
        var nodes = 0
        terms = Self.terms(of: .and(filters), depth: 0, &nodes)
        common = terms.count == 1 ? terms[0] : Self.common(filters, depth: 0, &nodes)
    }

    private static func common(_ filters: [Filter], depth: Int, _ nodes: inout Int)
        -> Conjunction
    {
        guard depth < maxDepth else { return .anything }
        var common = Conjunction()
        for filter in filters {
            nodes += 1
            guard nodes <= 2 * maxNodes else { return common.and(.anything) }
            if case .and(let inner) = filter {
                common = common.and(self.common(inner, depth: depth + 1, &nodes))
            } else if case .field(let filter) = filter, case let only = terms(of: filter),
                only.count == 1
            {
                common = common.and(only[0])
            } else {
                common.isWhole = false
            }
        }
        return common
    }

    private static func terms(of filter: Filter, depth: Int, _ nodes: inout Int)
        -> [Conjunction]
    {
        nodes += 1
        guard depth < maxDepth, nodes <= maxNodes else { return [.anything] }
        switch filter {
        case .field(let filter):
            return terms(of: filter)
        case .and(let filters):
            // Smallest first, so that the limit omits as few conditions as possible.
            let choices = filters.map { terms(of: $0, depth: depth + 1, &nodes) }
                .sorted { $0.count < $1.count }
            return choices.reduce([Conjunction()], product)
        case .or(let filters):
            var terms: [Conjunction] = []
            for filter in filters {
                terms += self.terms(of: filter, depth: depth + 1, &nodes)
                guard isBounded(terms), nodes <= maxNodes else { return [.anything] }
            }
            return terms
        }
    }

    private static func product(_ left: [Conjunction], _ right: [Conjunction]) -> [Conjunction] {
        let count =
            left.reduce(0) { $0 + $1.count } * right.count
            + right.reduce(0) { $0 + $1.count } * left.count
        guard right.count <= 1 || left.count * right.count <= maxTerms && count <= maxConditions
        else {
            return left.map { $0.and(.anything) }
        }
        return left.flatMap { left in right.map { left.and($0) } }
    }

    private static func isBounded(_ terms: [Conjunction]) -> Bool {
        terms.count <= maxTerms && terms.reduce(0) { $0 + $1.count } <= maxConditions
    }

    private static func terms(of filter: FieldFilter) -> [Conjunction] {
        if filter.path.isDocumentID {
            guard let condition = DocumentIDCondition(filter) else { return [.anything] }
            return [Conjunction(documentIDs: [condition])]
        }
        switch filter.op {
        case .in:
            return terms(anyOf: filter, .equal)
        case .arrayContainsAny:
            return terms(anyOf: filter, .contains)
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .arrayContains:
            if filter.value.isNullOrNaN { return [] }
        case .notIn:
            // A list that contains null matches nothing.
            if case .array(let values) = filter.value, values.contains(.null) { return [] }
        case .equal, .notEqual: break
        }
        guard let condition = Condition(filter) else { return [.anything] }
        return [Conjunction(conditions: [condition])]
    }

    /// A term for each distinct value of a list; null and NaN equal no value.
    private static func terms(anyOf filter: FieldFilter, _ test: Condition.Test) -> [Conjunction] {
        guard case .array(let values) = filter.value, values.count <= maxTerms else {
            return [.anything]
        }
        var places: Set<[UInt8]> = []
        var terms: [Conjunction] = []
        for value in values where !value.isNullOrNaN {
            guard let condition = Condition(filter.path, test, value) else {
                terms.append(.anything)
                continue
            }
            if places.insert(condition.bytes).inserted {
                terms.append(Conjunction(conditions: [condition]))
            }
        }
        return terms
    }
}
