import LarderModel
import LarderQuery

/// A condition on documents: a comparison of a field, or several conditions joined by "and" or
/// "or".
///
/// With an invalid field path, or a value that cannot be compared, every operation on a query with
/// the filter fails with `invalidArgument`.
public final class Filter: Sendable {
    /// The condition, or the error of an invalid one.
    let content: Result<LarderQuery.Filter, LarderError>

    private init(_ content: Result<LarderQuery.Filter, LarderError>) {
        self.content = content
    }

    /// A filter without conditions, which always matches.
    public convenience init() {
        self.init(.success(.and([])))
    }

    /// Matches if all filters match; always matches without filters.
    public static func andFilter(_ filters: [Filter]) -> Filter {
        joined(filters) { .and($0) }
    }

    /// Matches if at least one filter matches; always matches without filters.
    public static func orFilter(_ filters: [Filter]) -> Filter {
        joined(filters) { .or($0) }
    }

    private static func joined(
        _ filters: [Filter], _ join: ([LarderQuery.Filter]) -> LarderQuery.Filter
    ) -> Filter {
        Filter(
            Result { () throws(LarderError) in
                join(try filters.map { filter throws(LarderError) in try filter.content.get() })
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
    /// Matches if a field equals a value.
    public static func whereField(_ field: String, isEqualTo value: Any) -> Filter {
        Self.field(field, .equal, value)
    }

    /// Matches if a field equals a value.
    public static func whereField(_ path: FieldPath, isEqualTo value: Any) -> Filter {
        Self.field(path, .equal, value)
    }

    /// Matches if a field exists and is neither null nor equal to a value.
    public static func whereField(_ field: String, isNotEqualTo value: Any) -> Filter {
        Self.field(field, .notEqual, value)
    }

    /// Matches if a field exists and is neither null nor equal to a value.
    public static func whereField(_ path: FieldPath, isNotEqualTo value: Any) -> Filter {
        Self.field(path, .notEqual, value)
    }

    /// Matches if a field has a value's type and is greater.
    public static func whereField(_ field: String, isGreaterThan value: Any) -> Filter {
        Self.field(field, .greaterThan, value)
    }

    /// Matches if a field has a value's type and is greater.
    public static func whereField(_ path: FieldPath, isGreaterThan value: Any) -> Filter {
        Self.field(path, .greaterThan, value)
    }

    /// Matches if a field has a value's type and is greater or equal.
    public static func whereField(_ field: String, isGreaterOrEqualTo value: Any) -> Filter {
        Self.field(field, .greaterThanOrEqual, value)
    }

    /// Matches if a field has a value's type and is greater or equal.
    public static func whereField(_ path: FieldPath, isGreaterOrEqualTo value: Any) -> Filter {
        Self.field(path, .greaterThanOrEqual, value)
    }

    /// Matches if a field has a value's type and is less.
    public static func whereField(_ field: String, isLessThan value: Any) -> Filter {
        Self.field(field, .lessThan, value)
    }

    /// Matches if a field has a value's type and is less.
    public static func whereField(_ path: FieldPath, isLessThan value: Any) -> Filter {
        Self.field(path, .lessThan, value)
    }

    /// Matches if a field has a value's type and is less or equal.
    public static func whereField(_ field: String, isLessThanOrEqualTo value: Any) -> Filter {
        Self.field(field, .lessThanOrEqual, value)
    }

    /// Matches if a field has a value's type and is less or equal.
    public static func whereField(_ path: FieldPath, isLessThanOrEqualTo value: Any) -> Filter {
        Self.field(path, .lessThanOrEqual, value)
    }

    /// Matches if a field is an array that contains a value.
    public static func whereField(_ field: String, arrayContains value: Any) -> Filter {
        Self.field(field, .arrayContains, value)
    }

    /// Matches if a field is an array that contains a value.
    public static func whereField(_ path: FieldPath, arrayContains value: Any) -> Filter {
        Self.field(path, .arrayContains, value)
    }

    /// Matches if a field is an array that contains at least one of the values.
    public static func whereField(_ field: String, arrayContainsAny values: [Any]) -> Filter {
        Self.field(field, .arrayContainsAny, values)
    }

    /// Matches if a field is an array that contains at least one of the values.
    public static func whereField(_ path: FieldPath, arrayContainsAny values: [Any]) -> Filter {
        Self.field(path, .arrayContainsAny, values)
    }

    /// Matches if a field equals one of the values.
    public static func whereField(_ field: String, in values: [Any]) -> Filter {
        Self.field(field, .in, values)
    }

    /// Matches if a field equals one of the values.
    public static func whereField(_ path: FieldPath, in values: [Any]) -> Filter {
        Self.field(path, .in, values)
    }

    /// Matches if a field exists and is neither null nor equal to one of the values.
    public static func whereField(_ field: String, notIn values: [Any]) -> Filter {
        Self.field(field, .notIn, values)
    }

    /// Matches if a field exists and is neither null nor equal to one of the values.
    public static func whereField(_ path: FieldPath, notIn values: [Any]) -> Filter {
        Self.field(path, .notIn, values)
    }
}

// MARK: - Comparing

extension Value {
    /// A value to compare fields with; references may belong to any database.
    init(comparing value: Any, allowsNestedArrays: Bool = false) throws(LarderError) {
        do throws(UserValueProblem) {
            var parser = try UserValueParser(.query(nestedArrays: allowsNestedArrays))
            self = try parser.value(value)
        } catch {
            throw error.error
        }
    }
}
