import Foundation
import Larder
import LarderModel

/// Converts values to those of the database API.
struct UserValues {
    /// The database of references.
    let firestore: Firestore
    let databaseID: DatabaseID

    /// Converts a value.
    ///
    /// - Throws: a data error for a reference to another database, and for names that are equal as
    ///   Swift strings.
    func value(_ value: Value) throws(ToolError) -> Any {
        switch value {
        case .null, .max: return NSNull()
        case .boolean(let boolean): return boolean
        case .integer(let integer): return integer
        case .double(let double): return double
        case .timestamp(let time): return time
        // The value is pending, so the sentinel is written again.
        case .serverTimestamp: return FieldValue.serverTimestamp()
        case .string(let string): return string
        case .bytes(let bytes): return Data(bytes)
        case .geoPoint(let point): return point
        case .vector(let vector): return vector
        case .reference(let name): return try reference(name)
        case .array(let elements): return try values(elements)
        case .map(let map): return try fields(map)
        }
    }

    func values(_ values: [Value]) throws(ToolError) -> [Any] {
        try values.map(value)
    }

    /// Converts the fields of a document or a map.
    func fields(_ map: MapValue) throws(ToolError) -> [String: Any] {
        var fields: [String: Any] = [:]
        for (name, value) in map {
            guard fields.updateValue(try self.value(value), forKey: name) == nil else {
                throw ToolError(
                    .badData,
                    "the field names '\(name)' differ only in their Unicode normalization",
                    hint: "rename one of them")
            }
        }
        return fields
    }

    /// Converts the changes of an update.
    func changes(_ changes: [FieldChange]) throws(ToolError) -> [AnyHashable: Any] {
        var result: [AnyHashable: Any] = [:]
        for change in changes {
            let field = Larder.FieldPath(change.field.segments)
            guard result.updateValue(try content(change.content), forKey: field) == nil else {
                throw ToolError(
                    .usage, "the field '\(change.field)' is specified twice",
                    hint: "specify it once")
            }
        }
        return result
    }

    private func content(_ content: FieldChange.Content) throws(ToolError) -> Any {
        switch content {
        case .value(let value): return try self.value(value)
        case .delete: return FieldValue.delete()
        case .serverTimestamp: return FieldValue.serverTimestamp()
        case .increment(.integer(let amount)): return FieldValue.increment(amount)
        case .increment(.double(let amount)): return FieldValue.increment(amount)
        case .minimum(.integer(let number)): return FieldValue.minimum(number)
        case .minimum(.double(let number)): return FieldValue.minimum(number)
        case .maximum(.integer(let number)): return FieldValue.maximum(number)
        case .maximum(.double(let number)): return FieldValue.maximum(number)
        case .increment(let value), .minimum(let value), .maximum(let value):
            throw ToolError(.usage, "\(FieldText.text(of: value)) is not a number")
        case .arrayUnion(let values): return FieldValue.arrayUnion(try self.values(values))
        case .arrayRemove(let values): return FieldValue.arrayRemove(try self.values(values))
        }
    }

    private func reference(_ name: ResourceName) throws(ToolError) -> DocumentReference {
        guard let path = name.document else {
            throw ToolError(
                .badData, "'\(name)' is not the name of a document",
                hint: "names are projects/P/databases/D/documents/cities/SF")
        }
        guard let database = name.database, database == databaseID else {
            throw ToolError(
                .badData, "'\(name)' is not a document of \(databaseID)",
                hint: "--project and --database specify the database of the store")
        }
        return firestore.document(path.string)
    }
}

extension WhereExpression {
    /// The filter of the database API for this condition.
    func filter(_ values: UserValues) throws(ToolError) -> Filter {
        switch self {
        case .and(let parts): return .andFilter(try Self.filters(parts, values))
        case .or(let parts): return .orFilter(try Self.filters(parts, values))
        case .field(let path, let op, let value):
            let field = Larder.FieldPath(path.segments)
            if op.takesList {
                guard case .array(let elements) = value else {
                    throw ToolError(.usage, "\(op.rawValue) requires a list, such as [1, 2]")
                }
                let list = try values.values(elements)
                switch op {
                case .in: return .whereField(field, in: list)
                case .notIn: return .whereField(field, notIn: list)
                default: return .whereField(field, arrayContainsAny: list)
                }
            }
            let operand = try values.value(value)
            switch op {
            case .notEqual: return .whereField(field, isNotEqualTo: operand)
            case .lessThan: return .whereField(field, isLessThan: operand)
            case .lessThanOrEqual: return .whereField(field, isLessThanOrEqualTo: operand)
            case .greaterThan: return .whereField(field, isGreaterThan: operand)
            case .greaterThanOrEqual: return .whereField(field, isGreaterOrEqualTo: operand)
            case .arrayContains: return .whereField(field, arrayContains: operand)
            default: return .whereField(field, isEqualTo: operand)
            }
        }
    }

    private static func filters(
        _ parts: [WhereExpression], _ values: UserValues
    ) throws(ToolError) -> [Filter] {
        try parts.map { part throws(ToolError) in try part.filter(values) }
    }
}

/// The argument of `larder update`: a change of one field, such as `population=860000`.
struct FieldChange {
    enum Content: Equatable {
        case value(Value)
        case delete
        /// Sets the commit time.
        case serverTimestamp
        case increment(Value)
        case minimum(Value)
        case maximum(Value)
        case arrayUnion([Value])
        case arrayRemove([Value])
    }

    let field: LarderModel.FieldPath
    let content: Content

    /// Creates a change that sets a value.
    init(_ field: LarderModel.FieldPath, _ value: Value) {
        self.field = field
        content = .value(value)
    }

    /// Parses `FIELD=VALUE`; everything after the `=` is one value, including blanks.
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
            // Spaces are part of a string, but not of a number or a JSON keyword.
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
