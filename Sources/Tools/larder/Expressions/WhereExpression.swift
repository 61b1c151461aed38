import LarderModel

/// The argument of `--where`: a condition such as `population > 1000000 and country in [FR, DE]`.
///
///     condition  = conjunction ("or" conjunction)...
///     conjunction = term ("and" term)...
///     term       = "(" condition ")" | field operator value
///
/// Field paths are in canonical form; values are as in ``ExpressionScanner/takeValue()``.
indirect enum WhereExpression: Equatable {
    case field(FieldPath, Operator, Value)
    case and([WhereExpression])
    case or([WhereExpression])

    /// A comparison operator.
    enum Operator: String, CaseIterable {
        case equal = "=="
        case notEqual = "!="
        case lessThanOrEqual = "<="
        case greaterThanOrEqual = ">="
        case lessThan = "<"
        case greaterThan = ">"
        case notIn = "not-in"
        case `in` = "in"
        case arrayContainsAny = "array-contains-any"
        case arrayContains = "array-contains"

        var takesList: Bool { self == .in || self == .notIn || self == .arrayContainsAny }

        /// Whether it is a word rather than symbols.
        fileprivate var isWord: Bool {
            takesList || self == .arrayContains
        }
    }

    /// Parses a condition.
    init(_ text: String, database: DatabaseID) throws(ExpressionFailure) {
        var words: [String] = []
        self = try Self(text, database: database, numberLikeWords: &words)
    }

    /// Parses a condition, and collects its bare words that begin like numbers and are strings.
    init(
        _ text: String, database: DatabaseID, numberLikeWords: inout [String]
    ) throws(ExpressionFailure) {
        var scanner = ExpressionScanner(text, database: database)
        defer { numberLikeWords += scanner.numberLikeWords }
        self = try Self.condition(&scanner, depth: 0)
        guard scanner.isAtEnd else {
            throw scanner.failure(
                "expected 'and', 'or' or the end, found \(scanner.found); "
                    + "quote text that contains spaces with \"\"")
        }
    }

    private static func condition(
        _ scanner: inout ExpressionScanner, depth: Int
    ) throws(ExpressionFailure) -> WhereExpression {
        var parts = [try conjunction(&scanner, depth: depth)]
        while scanner.takeWord("or") { parts.append(try conjunction(&scanner, depth: depth)) }
        return parts.count == 1 ? parts[0] : .or(parts)
    }

    private static func conjunction(
        _ scanner: inout ExpressionScanner, depth: Int
    ) throws(ExpressionFailure) -> WhereExpression {
        var parts = [try term(&scanner, depth: depth)]
        while scanner.takeWord("and") { parts.append(try term(&scanner, depth: depth)) }
        return parts.count == 1 ? parts[0] : .and(parts)
    }

    private static func term(
        _ scanner: inout ExpressionScanner, depth: Int
    ) throws(ExpressionFailure) -> WhereExpression {
        if scanner.take("(") {
            guard depth < ExpressionScanner.maxDepth else {
                throw scanner.failure("parentheses are nested too deeply")
            }
            let inner = try condition(&scanner, depth: depth + 1)
            guard scanner.take(")") else {
                throw scanner.failure("expected 'and', 'or' or ')', found \(scanner.found)")
            }
            return inner
        }
        let field = try scanner.takeField()
        let op = try takeOperator(&scanner)
        scanner.skipBlanks()
        let start = scanner.position
        let value = try scanner.takeValue(isID: field.isDocumentID)
        if op.takesList {
            guard case .array = value else {
                throw ExpressionFailure(
                    offset: start, reason: "\(op.rawValue) requires a list, such as [1, 2]")
            }
        }
        return .field(field, op, value)
    }

    private static func takeOperator(
        _ scanner: inout ExpressionScanner
    ) throws(ExpressionFailure) -> Operator {
        scanner.skipBlanks()
        for op in Operator.allCases {
            if op.isWord ? scanner.takeWord(op.rawValue) : scanner.take(op.rawValue) { return op }
        }
        let all = "==, !=, <, <=, >, >=, in, not-in, array-contains, array-contains-any"
        throw scanner.failure("expected an operator (\(all)), found \(scanner.found)")
    }
}
