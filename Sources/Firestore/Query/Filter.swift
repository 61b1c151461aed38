package import LarderModel

/// A condition on a document: a field filter or a composite.
package indirect enum Filter: Sendable, Hashable {
    case field(FieldFilter)
    /// Conjunction; always true without filters.
    case and([Filter])
    /// Disjunction; always false without filters.
    case or([Filter])

    /// The field filters in it, depth first.
    package var fieldFilters: [FieldFilter] {
        switch self {
        case .field(let filter): [filter]
        case .and(let filters), .or(let filters): filters.flatMap(\.fieldFilters)
        }
    }
}

/// A condition on one field, with the semantics of Firestore's service.
///
/// Values are compared by their positions in Firestore's order, so that 1 equals 1.0 in every
/// operator, including in arrays and maps. `==` and `!=` with null or NaN test whether a field is
/// null or NaN; for all other operators, null and NaN, of the field or the operand, are equal to
/// nothing and neither less nor greater than anything. `not-in` with a null matches nothing.
package struct FieldFilter: Sendable, Hashable {
    /// The comparison of a field's value with a filter's.
    package enum Operator: String, Sendable, Hashable, CaseIterable {
        case lessThan = "<"
        case lessThanOrEqual = "<="
        case equal = "=="
        case notEqual = "!="
        case greaterThan = ">"
        case greaterThanOrEqual = ">="
        case arrayContains = "array-contains"
        case arrayContainsAny = "array-contains-any"
        case `in` = "in"
        case notIn = "not-in"

        /// Whether the field becomes an implicit order of the query.
        package var isInequality: Bool {
            switch self {
            case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .notEqual,
                .notIn:
                true
            case .equal, .in, .arrayContains, .arrayContainsAny:
                false
            }
        }
    }

    /// The field; ``LarderModel/FieldPath/documentID`` for the document name.
    package let path: FieldPath
    package let op: Operator
    /// The operand; an array for ``Operator/in``, ``Operator/notIn`` and
    /// ``Operator/arrayContainsAny``, a reference (or an array of them) for the name.
    package let value: Value

    package init(_ path: FieldPath, _ op: Operator, _ value: Value) {
        self.path = path
        self.op = op
        self.value = value
    }
}

extension Value {
    /// Whether the value is null or NaN, which only `==` and `!=` can match: inequalities with them
    /// match nothing, and in lists they equal nothing.
    package var isNullOrNaN: Bool {
        switch self {
        case .null: true
        case .double(let number): number.isNaN
        default: false
        }
    }

    package var isNumber: Bool { type == .integer || type == .double }
}
