import LarderModel
import LarderQuery

/// A condition on documents: one field's, or several joined with "and" or "or".
///
/// A field that is no field path, or a value that cannot be compared with, is reported by whatever
/// is asked of a query with the filter, as `invalidArgument`.
public final class Filter: Sendable {
    /// The condition as data, or what was wrong in the making of it.
    let content: Result<LarderQuery.Filter, LarderError>

    private init(_ content: Result<LarderQuery.Filter, LarderError>) {
        self.content = content
    }

    /// Matches when every one of the filters does; without filters always.
    public static func andFilter(_ filters: [Filter]) -> Filter {
        joined(filters) { .and($0) }
    }

    /// Matches when one of the filters does; without filters always.
    public static func orFilter(_ filters: [Filter]) -> Filter {
        joined(filters) { .or($0) }
    }

    private static func joined(
        _ filters: [Filter], _ join: ([LarderQuery.Filter]) -> LarderQuery.Filter
    ) -> Filter {
        Filter(
            Result { () throws(LarderError) in
                var parts: [LarderQuery.Filter] = []
                for filter in filters { parts.append(try filter.content.get()) }
                return join(parts)
            })
    }

    private static func field(
        _ field: Any, _ op: FieldFilter.Operator, _ value: Any
    ) -> Filter {
        Filter(
            Result { () throws(LarderError) in
                .field(
                    FieldFilter(
                        try FieldPath.resolving(field), op,
                        try Value(
                            comparing: value, allowsNestedArrays: op == .in || op == .notIn)))
            })
    }
}

extension Filter {
    /// Matches when a field equals a value.
    public static func whereField(_ field: String, isEqualTo value: Any) -> Filter {
        Self.field(field, .equal, value)
    }

    /// Matches when a field equals a value.
    public static func whereField(_ path: FieldPath, isEqualTo value: Any) -> Filter {
        Self.field(path, .equal, value)
    }

    /// Matches when a field is there and is neither null nor equal to a value.
    public static func whereField(_ field: String, isNotEqualTo value: Any) -> Filter {
        Self.field(field, .notEqual, value)
    }

    /// Matches when a field is there and is neither null nor equal to a value.
    public static func whereField(_ path: FieldPath, isNotEqualTo value: Any) -> Filter {
        Self.field(path, .notEqual, value)
    }

    /// Matches when a field is of a value's type and greater than it.
    public static func whereField(_ field: String, isGreaterThan value: Any) -> Filter {
        Self.field(field, .greaterThan, value)
    }

    /// Matches when a field is of a value's type and greater than it.
    public static func whereField(_ path: FieldPath, isGreaterThan value: Any) -> Filter {
        Self.field(path, .greaterThan, value)
    }

    /// Matches when a field is of a value's type and not less than it.
    public static func whereField(_ field: String, isGreaterOrEqualTo value: Any) -> Filter {
        Self.field(field, .greaterThanOrEqual, value)
    }

    /// Matches when a field is of a value's type and not less than it.
    public static func whereField(_ path: FieldPath, isGreaterOrEqualTo value: Any) -> Filter {
        Self.field(path, .greaterThanOrEqual, value)
    }

    /// Matches when a field is of a value's type and less than it.
    public static func whereField(_ field: String, isLessThan value: Any) -> Filter {
        Self.field(field, .lessThan, value)
    }

    /// Matches when a field is of a value's type and less than it.
    public static func whereField(_ path: FieldPath, isLessThan value: Any) -> Filter {
        Self.field(path, .lessThan, value)
    }

    /// Matches when a field is of a value's type and not greater than it.
    public static func whereField(_ field: String, isLessThanOrEqualTo value: Any) -> Filter {
        Self.field(field, .lessThanOrEqual, value)
    }

    /// Matches when a field is of a value's type and not greater than it.
    public static func whereField(_ path: FieldPath, isLessThanOrEqualTo value: Any) -> Filter {
        Self.field(path, .lessThanOrEqual, value)
    }

    /// Matches when a field is an array with an element equal to a value.
    public static func whereField(_ field: String, arrayContains value: Any) -> Filter {
        Self.field(field, .arrayContains, value)
    }

    /// Matches when a field is an array with an element equal to a value.
    public static func whereField(_ path: FieldPath, arrayContains value: Any) -> Filter {
        Self.field(path, .arrayContains, value)
    }

    /// Matches when a field is an array with an element equal to one of the values.
    public static func whereField(_ field: String, arrayContainsAny values: [Any]) -> Filter {
        Self.field(field, .arrayContainsAny, values)
    }

    /// Matches when a field is an array with an element equal to one of the values.
    public static func whereField(_ path: FieldPath, arrayContainsAny values: [Any]) -> Filter {
        Self.field(path, .arrayContainsAny, values)
    }

    /// Matches when a field equals one of the values.
    public static func whereField(_ field: String, in values: [Any]) -> Filter {
        Self.field(field, .in, values)
    }

    /// Matches when a field equals one of the values.
    public static func whereField(_ path: FieldPath, in values: [Any]) -> Filter {
        Self.field(path, .in, values)
    }

    /// Matches when a field is there and is neither null nor equal to one of the values.
    public static func whereField(_ field: String, notIn values: [Any]) -> Filter {
        Self.field(field, .notIn, values)
    }

    /// Matches when a field is there and is neither null nor equal to one of the values.
    public static func whereField(_ path: FieldPath, notIn values: [Any]) -> Filter {
        Self.field(path, .notIn, values)
    }
}

// MARK: - Comparing

extension Value {
    /// What a user compares fields with; references may be of any database.
    init(comparing value: Any, allowsNestedArrays: Bool = false) throws(LarderError) {
        do throws(UserValueProblem) {
            var parser = try UserValueParser(.query(nestedArrays: allowsNestedArrays))
            self = try parser.value(value)
        } catch {
            throw error.error
        }
    }
}
