import LarderModel

/// What `larder update` does to one field, as the command line says it: `population=860000`.
struct FieldChange {
    /// The change.
    enum Content: Equatable {
        /// The field gets a value.
        case value(Value)
        /// The field goes.
        case delete
        /// The field gets the time of the commit.
        case serverTimestamp
        case increment(Value)
        case minimum(Value)
        case maximum(Value)
        case arrayUnion([Value])
        case arrayRemove([Value])
    }

    /// The field.
    let field: FieldPath
    /// What happens to it.
    let content: Content

    /// Sets a field to a value.
    init(_ field: FieldPath, _ value: Value) {
        self.field = field
        content = .value(value)
    }

    /// Reads `FIELD=VALUE`; what is behind the `=` is one value, blanks and all.
    init(_ text: String, database: DatabaseID) throws(ExpressionFailure) {
        var scanner = ExpressionScanner(text, database: database)
        field = try scanner.takeField()
        guard scanner.take("=") else {
            throw scanner.failure("expected '=' and a value, found \(scanner.found)")
        }
        let rest = String(decoding: text.utf8.dropFirst(scanner.position), as: UTF8.self)
        switch rest.trimmingSpaces {
        case "delete:": content = .delete
        case "now:": content = .serverTimestamp
        default:
            if scanner.take("increment:") {
                content = .increment(try Self.number(&scanner))
            } else if scanner.take("min:") {
                content = .minimum(try Self.number(&scanner))
            } else if scanner.take("max:") {
                content = .maximum(try Self.number(&scanner))
            } else if scanner.take("union:") {
                content = .arrayUnion(try Self.list(&scanner))
            } else if scanner.take("remove:") {
                content = .arrayRemove(try Self.list(&scanner))
            } else {
                content = .value(try Self.value(rest, &scanner))
            }
        }
    }

    private static func value(
        _ text: String, _ scanner: inout ExpressionScanner
    ) throws(ExpressionFailure) -> Value {
        let trimmed = text.trimmingSpaces
        let isNotation = ["\"", "[", "{", "ref:", "time:"].contains { trimmed.hasPrefix($0) }
        guard isNotation else {
            // Blanks belong to a text, but not to a number or a word of JSON.
            let value = ExpressionScanner.value(ofWord: trimmed)
            if case .string = value { return .string(text) }
            return value
        }
        let value = try scanner.takeValue()
        try scanner.expectEnd()
        return value
    }

    private static func number(
        _ scanner: inout ExpressionScanner
    ) throws(ExpressionFailure) -> Value {
        let start = scanner.position
        let value = try scanner.takeValue()
        try scanner.expectEnd()
        switch value {
        case .integer, .double: return value
        default: throw ExpressionFailure(offset: start, reason: "expected a number")
        }
    }

    private static func list(
        _ scanner: inout ExpressionScanner
    ) throws(ExpressionFailure) -> [Value] {
        let start = scanner.position
        let value = try scanner.takeValue()
        try scanner.expectEnd()
        guard case .array(let values) = value else {
            throw ExpressionFailure(
                offset: start, reason: "expected a list, such as [\"a\", \"b\"]")
        }
        return values
    }
}
