import LarderModel
import LarderQuery
import SwiftProtobuf

extension MessageCoder {
    /// Encodes the conjunction of filters; nil for none.
    func encode(_ filters: [Filter])
        throws(LarderError) -> Google_Firestore_V1_StructuredQuery.Filter?
    {
        switch filters.count {
        case 0: nil
        case 1: try encode(filters[0])
        default: try encode(.and(filters))
        }
    }

    private func encode(_ filter: Filter)
        throws(LarderError) -> Google_Firestore_V1_StructuredQuery.Filter
    {
        var message = Google_Firestore_V1_StructuredQuery.Filter()
        switch filter {
        case .field(let filter): message.filterType = try encode(filter)
        case .and(let filters):
            message.compositeFilter.op = .and
            message.compositeFilter.filters = try filters.map(encode)
        case .or(let filters):
            message.compositeFilter.op = .or
            message.compositeFilter.filters = try filters.map(encode)
        }
        return message
    }

    private func encode(_ filter: FieldFilter)
        throws(LarderError) -> Google_Firestore_V1_StructuredQuery.Filter.OneOf_FilterType
    {
        if let op = Google_Firestore_V1_StructuredQuery.UnaryFilter.Operator(filter) {
            var unary = Google_Firestore_V1_StructuredQuery.UnaryFilter()
            unary.op = op
            unary.field = encode(field: filter.path)
            return .unaryFilter(unary)
        }
        var message = Google_Firestore_V1_StructuredQuery.FieldFilter()
        message.field = encode(field: filter.path)
        message.op = .init(filter.op)
        message.value = try encode(filter.value)
        return .fieldFilter(message)
    }

    func encode(field path: FieldPath) -> Google_Firestore_V1_StructuredQuery.FieldReference {
        var message = Google_Firestore_V1_StructuredQuery.FieldReference()
        message.fieldPath = path.canonicalString
        return message
    }
}

/// The filters of a request, all of which must match.
struct DecodedFilters {
    /// The filters as they were sent, to be validated.
    var sent: [Filter] = []
    /// The filters that match what the service matches.
    ///
    /// Comparisons with null and NaN, which are tested by unary filters, match as with a value that
    /// equals nothing. Those that match nothing imply no order.
    var evaluated: [Filter] = []
}

extension MessageCoder {
    /// Decodes a filter as lists of conjuncts.
    ///
    /// - Parameter budget: the number of filters allowed.
    func decode(
        _ message: Google_Firestore_V1_StructuredQuery.Filter, budget: Int
    ) throws(LarderError) -> DecodedFilters {
        var left = budget
        let sent = Self.conjuncts(try filter(message, &left, isEvaluated: false))
        left = budget
        let evaluated = Self.conjuncts(try filter(message, &left, isEvaluated: true))
        return DecodedFilters(sent: sent, evaluated: evaluated)
    }

    private static func conjuncts(_ filter: Filter) -> [Filter] {
        if case .and(let filters) = filter { filters } else { [filter] }
    }

    private func filter(
        _ message: Google_Firestore_V1_StructuredQuery.Filter, _ budget: inout Int,
        isEvaluated: Bool
    ) throws(LarderError) -> Filter {
        budget -= 1
        guard budget >= 0 else {
            throw .invalidArgument(
                "a query has more than \(limits.maxQueryParts) filters and orders")
        }
        switch message.filterType {
        case nil: throw .invalidArgument("a filter has no condition")
        case .fieldFilter(let message):
            let filter = try decode(message)
            return isEvaluated ? Self.evaluated(filter) : .field(filter)
        case .unaryFilter(let filter): return .field(try decode(filter))
        case .compositeFilter(let composite):
            let filters = try composite.filters.map { part throws(LarderError) in
                try filter(part, &budget, isEvaluated: isEvaluated)
            }
            switch composite.op {
            case .and: return .and(filters)
            case .or:
                guard !filters.isEmpty else {
                    throw .invalidArgument("Composite filter must have at least one sub-filter.")
                }
                return .or(filters)
            case .unspecified, .UNRECOGNIZED:
                throw .invalidArgument("Unsupported CompositeFilter operator.")
            }
        }
    }

    /// What a comparison with a value matches that may be null or NaN.
    private static func evaluated(_ filter: FieldFilter) -> Filter {
        guard filter.value.isNullOrNaN else { return .field(filter) }
        switch (filter.op, filter.value) {
        case (.notEqual, .double):
            // Everything but null is not equal to NaN.
            return .field(FieldFilter(filter.path, .notEqual, .null))
        case (.lessThan, _), (.lessThanOrEqual, _), (.equal, _), (.notEqual, _),
            (.greaterThanOrEqual, _), (.greaterThan, _):
            return .or([])
        case (.arrayContains, _), (.arrayContainsAny, _), (.in, _), (.notIn, _):
            return .field(filter)
        }
    }

    private func decode(_ message: Google_Firestore_V1_StructuredQuery.FieldFilter)
        throws(LarderError) -> FieldFilter
    {
        let path = try decode(fieldPath: message.field.fieldPath)
        guard let op = FieldFilter.Operator(message.op) else {
            throw .invalidArgument("the filter on '\(path)' has an unknown operator")
        }
        let value = try decode(message.value)
        if case .array(let values) = value, let limit = maxValues(of: op), values.count > limit {
            throw .invalidArgument(
                "'\(op.rawValue)' has \(values.count) values; the limit is \(limit)")
        }
        if path.isDocumentID { try checkNames(in: value) }
        return FieldFilter(path, op, value)
    }

    private func decode(_ message: Google_Firestore_V1_StructuredQuery.UnaryFilter)
        throws(LarderError) -> FieldFilter
    {
        guard case .field(let field)? = message.operandType else {
            throw .invalidArgument("a filter has no field")
        }
        let path = try decode(fieldPath: field.fieldPath)
        switch message.op {
        case .isNan: return FieldFilter(path, .equal, .double(.nan))
        case .isNull: return FieldFilter(path, .equal, .null)
        case .isNotNan: return FieldFilter(path, .notEqual, .double(.nan))
        case .isNotNull: return FieldFilter(path, .notEqual, .null)
        case .unspecified, .UNRECOGNIZED:
            throw .invalidArgument("the filter on '\(path)' has an unknown operator")
        }
    }

    private func maxValues(of op: FieldFilter.Operator) -> Int? {
        switch op {
        case .in, .arrayContainsAny: limits.maxDisjunctions
        case .notIn: limits.maxExclusions
        default: nil
        }
    }

    /// Checks that references, single or in a list, name documents of the database.
    func checkNames(in value: Value) throws(LarderError) {
        switch value {
        case .reference(let name): _ = try decode(documentName: name.string)
        case .array(let values):
            for value in values { try checkNames(in: value) }
        default: break
        }
    }
}

extension Google_Firestore_V1_StructuredQuery.UnaryFilter.Operator {
    /// The operator of a condition without an operand; nil for others.
    fileprivate init?(_ filter: FieldFilter) {
        switch (filter.op, filter.value) {
        case (.equal, .null): self = .isNull
        case (.notEqual, .null): self = .isNotNull
        case (.equal, .double(let number)) where number.isNaN: self = .isNan
        case (.notEqual, .double(let number)) where number.isNaN: self = .isNotNan
        default: return nil
        }
    }
}

extension Google_Firestore_V1_StructuredQuery.FieldFilter.Operator {
    fileprivate init(_ op: FieldFilter.Operator) {
        self =
            switch op {
            case .lessThan: .lessThan
            case .lessThanOrEqual: .lessThanOrEqual
            case .equal: .equal
            case .notEqual: .notEqual
            case .greaterThan: .greaterThan
            case .greaterThanOrEqual: .greaterThanOrEqual
            case .arrayContains: .arrayContains
            case .arrayContainsAny: .arrayContainsAny
            case .in: .in
            case .notIn: .notIn
            }
    }
}

extension FieldFilter.Operator {
    fileprivate init?(_ op: Google_Firestore_V1_StructuredQuery.FieldFilter.Operator) {
        switch op {
        case .lessThan: self = .lessThan
        case .lessThanOrEqual: self = .lessThanOrEqual
        case .equal: self = .equal
        case .notEqual: self = .notEqual
        case .greaterThan: self = .greaterThan
        case .greaterThanOrEqual: self = .greaterThanOrEqual
        case .arrayContains: self = .arrayContains
        case .arrayContainsAny: self = .arrayContainsAny
        case .in: self = .in
        case .notIn: self = .notIn
        case .unspecified, .UNRECOGNIZED: return nil
        }
    }
}
