import LarderModel

extension Filter {
    /// The maximum nesting depth of composites, far beyond practical use, to limit recursion.
    static let maxDepth = 100

    /// The maximum number of filters on one level of nesting: composites can share parts, so that
    /// they can contain many more filters than they occupy memory.
    private static let maxCount = 10_000

    static func checkDepth(of filters: [Filter]) throws(LarderError) {
        var (level, depth) = (filters, 0)
        while !level.isEmpty {
            depth += 1
            guard depth <= maxDepth else {
                throw .invalidArgument("filters are nested deeper than \(maxDepth) levels")
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
    /// Validates the operand, by itself and for the operator.
    func validate() throws(LarderError) {
        switch op {
        case .in, .notIn, .arrayContainsAny:
            guard case .array(let values) = value, !values.isEmpty else {
                throw .invalidArgument("'\(op.rawValue)' requires a list of at least one value")
            }
        default: break
        }
        guard path.isDocumentID else {
            let allowsNestedArrays = op == .in || op == .notIn
            return try value.validateInQuery(allowsNestedArrays: allowsNestedArrays)
        }
        switch (op, value) {
        case (.arrayContains, _), (.arrayContainsAny, _):
            throw .invalidArgument("'\(op.rawValue)' does not apply to a document name")
        case (.in, .array(let values)), (.notIn, .array(let values)):
            for value in values { try Self.validateName(value) }
        default:
            try Self.validateName(value)
        }
    }

    private static func validateName(_ value: Value) throws(LarderError) {
        guard value.referencedDocument != nil else {
            throw .invalidArgument("a document name can be compared only with IDs and references")
        }
    }

    /// Checks that no two operators conflict, on any fields and at any nesting.
    static func checkConflicts(in filters: [FieldFilter]) throws(LarderError) {
        let operators = filters.map(\.op)
        for (position, op) in operators.enumerated() {
            for earlier in operators[..<position] where op.excludes(earlier) {
                throw .invalidArgument(
                    op == earlier
                        ? "a query can have only one '\(op.rawValue)'"
                        : "a query can have either '\(op.rawValue)' or '\(earlier.rawValue)' filters"
                )
            }
        }
    }
}

extension FieldFilter.Operator {
    /// Whether a query cannot have both.
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
    /// Checks that the value can be an operand.
    ///
    /// It must not contain nested arrays, unless they are allowed, or values that exist only
    /// locally.
    func validateInQuery(allowsNestedArrays: Bool) throws(LarderError) {
        switch self {
        case .serverTimestamp, .max:
            throw .invalidArgument("a query cannot compare with a pending value")
        case .vector(let vector):
            if let problem = vector.components.vectorSizeProblem {
                throw .invalidArgument(problem)
            }
        case .array(let values):
            for value in values {
                if case .array = value, !allowsNestedArrays {
                    throw .invalidArgument("an array in a query contains another array")
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

    /// Checks that the value can be a bound.
    func validateAsBound(of path: FieldPath) throws(LarderError) {
        switch self {
        case .serverTimestamp:
            throw .invalidArgument(
                "'\(path)' cannot be a bound of a query: its server timestamp is pending")
        case .max:
            throw .invalidArgument("the maximum value cannot be a bound of a query")
        default:
            break
        }
    }

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
