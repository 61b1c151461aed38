import LarderModel
import LarderQuery

/// A condition on a document's name that planning knows how to find documents by.
enum NameCondition: Sendable, Hashable {
    /// It is one of these.
    case oneOf([DocumentPath])
    /// It is on one side of a name.
    case below(DocumentPath, isInclusive: Bool)
    /// It is on one side of a name.
    case above(DocumentPath, isInclusive: Bool)

    /// The condition of a filter on the name; nil for one that planning does not know.
    init?(_ filter: FieldFilter) {
        if case .in = filter.op, case .array(let values) = filter.value {
            // What names no document equals none.
            self = .oneOf(values.compactMap(\.namedDocument))
            return
        }
        guard let name = filter.value.namedDocument else { return nil }
        switch filter.op {
        case .equal: self = .oneOf([name])
        case .lessThan: self = .below(name, isInclusive: false)
        case .lessThanOrEqual: self = .below(name, isInclusive: true)
        case .greaterThan: self = .above(name, isInclusive: false)
        case .greaterThanOrEqual: self = .above(name, isInclusive: true)
        case .notEqual, .notIn, .in, .arrayContains, .arrayContainsAny: return nil
        }
    }
}

extension Value {
    /// The document that a reference names.
    var namedDocument: DocumentPath? {
        guard case .reference(let name) = self else { return nil }
        return name.document
    }
}
