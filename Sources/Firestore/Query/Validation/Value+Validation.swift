import LarderModel

extension Value {
    /// Checks that a query may compare with the value.
    ///
    /// No array lies directly in another, unless that is allowed, and nothing in it exists only
    /// locally.
    func validateInQuery(allowsNestedArrays: Bool) throws(LarderError) {
        switch self {
        case .serverTimestamp, .max:
            throw .invalidArgument("a query cannot compare with a value that has yet to be set")
        case .array(let values):
            for value in values {
                if case .array = value, !allowsNestedArrays {
                    throw .invalidArgument("an array in a query has an array as an element")
                }
                try value.validateInQuery(allowsNestedArrays: allowsNestedArrays)
            }
        case .map(let entries):
            for entry in entries {
                try entry.value.validateInQuery(allowsNestedArrays: allowsNestedArrays)
            }
        default:
            break
        }
    }

    /// Checks that a query may begin or end at the value.
    func validateAsBound(of path: FieldPath) throws(LarderError) {
        switch self {
        case .serverTimestamp:
            throw .invalidArgument(
                "a query cannot begin or end at '\(path)': the server has not set its time yet")
        case .max:
            throw .invalidArgument("a query cannot begin or end above all values")
        default:
            break
        }
    }

    /// Checks that every reference in the value leads into a database.
    func validateReferences(to database: DatabaseID) throws(LarderError) {
        switch self {
        case .reference(let name):
            guard let other = name.database, other != database else { return }
            throw .invalidArgument(
                "the reference '\(name)' is to another database than '\(database)'")
        case .array(let values):
            for value in values { try value.validateReferences(to: database) }
        case .map(let entries):
            for entry in entries { try entry.value.validateReferences(to: database) }
        default:
            break
        }
    }
}
