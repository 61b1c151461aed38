import LarderModel

extension Filter {
    /// The maximum nesting depth of composites: far beyond practical use, so that nothing that
    /// follows the nesting runs out of stack.
    static let maxDepth = 100

    /// Filters on one level of nesting: filters that share their parts can be many more than they
    /// take memory.
    private static let maxCount = 10_000

    /// Checks that composites are not nested too deep, nor too many.
    static func checkDepth(of filters: [Filter]) throws(LarderError) {
        var (level, depth) = (filters, 0)
        while !level.isEmpty {
            depth += 1
            guard depth <= maxDepth else {
                throw .invalidArgument("filters are nested beyond \(maxDepth) levels")
            }
            guard level.count <= maxCount else {
                throw .invalidArgument("a query has more than \(maxCount) filters")
            }
            level = level.flatMap { filter -> [Filter] in
                switch filter {
                case .field: []
                case .and(let filters), .or(let filters): filters
                }
            }
        }
    }
}

extension FieldFilter {
    /// Checks the value, by itself and for the operator.
    func validate() throws(LarderError) {
        switch op {
        case .in, .notIn, .arrayContainsAny:
            guard case .array(let values) = value, !values.isEmpty else {
                throw .invalidArgument("'\(op.rawValue)' needs a list of one value at least")
            }
        default: break
        }
        guard path.isDocumentID else {
            let allowsNestedArrays = op == .in || op == .notIn
            return try value.validateInQuery(allowsNestedArrays: allowsNestedArrays)
        }
        switch (op, value) {
        case (.arrayContains, _), (.arrayContainsAny, _):
            throw .invalidArgument("'\(op.rawValue)' does not apply to a document's name")
        case (.in, .array(let values)), (.notIn, .array(let values)):
            for value in values { try Self.validateName(value) }
        default:
            try Self.validateName(value)
        }
    }

    private static func validateName(_ value: Value) throws(LarderError) {
        guard value.referencedDocument != nil else {
            throw .invalidArgument("a document's name is compared with ids and references only")
        }
    }

    /// Checks that no two operators exclude each other, on whichever fields and however nested.
    static func checkConflicts(in filters: [FieldFilter]) throws(LarderError) {
        let operators = filters.map(\.op)
        for (position, op) in operators.enumerated() {
            for earlier in operators[..<position] where op.excludes(earlier) {
                throw .invalidArgument(
                    op == earlier
                        ? "a query has one '\(op.rawValue)' at most"
                        : "a query has either '\(op.rawValue)' or '\(earlier.rawValue)' filters")
            }
        }
    }
}

extension FieldFilter.Operator {
    /// True if one query may not have both.
    fileprivate func excludes(_ other: FieldFilter.Operator) -> Bool {
        switch (self, other) {
        case (.notEqual, .notEqual), (.notEqual, .notIn), (.notIn, .notEqual), (.notIn, .notIn),
            (.notIn, .in), (.in, .notIn), (.notIn, .arrayContainsAny), (.arrayContainsAny, .notIn):
            true
        default:
            false
        }
    }
}

// MARK: - Values

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
