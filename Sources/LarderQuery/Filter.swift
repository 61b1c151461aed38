package import LarderModel

/// A condition on a document: one field's, or several joined.
package indirect enum Filter: Sendable, Hashable {
    /// A condition on one field.
    case field(FieldFilter)
    /// All hold; of no filters: always.
    case and([Filter])
    /// One holds at least; of no filters: never.
    case or([Filter])
}

/// A condition on one field.
package struct FieldFilter: Sendable, Hashable {
    /// How a field's value is tested against a filter's.
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
    }

    /// The field; ``LarderModel/FieldPath/documentID`` for the document's name.
    package let path: FieldPath
    /// How it is tested.
    package let op: Operator
    /// What it is tested against; an array for ``Operator/in``, ``Operator/notIn`` and
    /// ``Operator/arrayContainsAny``, a reference (or an array of them) for the name.
    package let value: Value

    /// A condition on a field.
    package init(_ path: FieldPath, _ op: Operator, _ value: Value) {
        self.path = path
        self.op = op
        self.value = value
    }
}
