package import LarderModel

/// A condition on a document: one field's, or several joined.
package indirect enum Filter: Sendable, Hashable {
    /// A condition on one field.
    case field(FieldFilter)
    /// All hold; of no filters: always.
    case and([Filter])
    /// One holds at least; of no filters: never.
    case or([Filter])

    /// The conditions on fields in it, depth first.
    package var fieldFilters: [FieldFilter] {
        switch self {
        case .field(let filter): [filter]
        case .and(let filters), .or(let filters): filters.flatMap(\.fieldFilters)
        }
    }
}

/// A condition on one field, with the meaning that Firestore's service gives it.
///
/// Values are compared by their places in Firestore's order, so that 1 equals 1.0 in every
/// operator, and within arrays and maps. `==` and `!=` with null or NaN ask whether a field is
/// null or NaN; in all other operators null and NaN count as equal to nothing and as less or
/// greater than nothing, be they the field's or the filter's. `not-in` with a null matches nothing.
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

        /// True if the field becomes an implicit order of the query.
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

    /// The field; ``LarderModel/FieldPath/documentID`` for the document's name.
    package let path: FieldPath
    /// The operator.
    package let op: Operator
    /// The operand; an array for ``Operator/in``, ``Operator/notIn`` and
    /// ``Operator/arrayContainsAny``, a reference (or an array of them) for the name.
    package let value: Value

    /// A condition on a field.
    package init(_ path: FieldPath, _ op: Operator, _ value: Value) {
        self.path = path
        self.op = op
        self.value = value
    }
}

extension Value {
    /// True if the value is null or NaN, which compare with nothing: only `==` and `!=` ask for
    /// them, inequalities with them match nothing, and in lists they count as equal to nothing.
    package var isNullOrNaN: Bool {
        switch self {
        case .null: true
        case .double(let number): number.isNaN
        default: false
        }
    }

    /// True if the value is an integer or a double.
    package var isNumber: Bool { type == .integer || type == .double }
}
