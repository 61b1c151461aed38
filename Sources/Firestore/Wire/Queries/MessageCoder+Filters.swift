import LarderModel
import LarderQuery
import SwiftProtobuf

extension MessageCoder {
    /// The message of conditions that must all hold; nil for none.
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
            for filter in filters { message.compositeFilter.filters.append(try encode(filter)) }
        case .or(let filters):
            message.compositeFilter.op = .or
            for filter in filters { message.compositeFilter.filters.append(try encode(filter)) }
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

    /// The message of a field.
    func encode(field path: FieldPath) -> Google_Firestore_V1_StructuredQuery.FieldReference {
        var message = Google_Firestore_V1_StructuredQuery.FieldReference()
        message.fieldPath = path.canonicalString
        return message
    }
}

extension MessageCoder {
    /// The conditions of a message, all of which must hold.
    ///
    /// - Parameter budget: how many conditions and composites there may be; what is left of it.
    func decode(
        _ message: Google_Firestore_V1_StructuredQuery.Filter, budget: inout Int
    ) throws(LarderError) -> [Filter] {
        switch try filter(message, budget: &budget) {
        case .and(let filters): filters
        case let filter: [filter]
        }
    }

    private func filter(
        _ message: Google_Firestore_V1_StructuredQuery.Filter, budget: inout Int
    ) throws(LarderError) -> Filter {
        budget -= 1
        guard budget >= 0 else {
            throw .invalidArgument(
                "a query has more than \(limits.maxQueryParts) filters and orders")
        }
        switch message.filterType {
        case nil: throw .invalidArgument("a filter has no condition")
        case .fieldFilter(let filter): return .field(try decode(filter))
        case .unaryFilter(let filter): return .field(try decode(filter))
        case .compositeFilter(let composite):
            guard !composite.filters.isEmpty else {
                throw .invalidArgument("a composite filter has no filters")
            }
            var filters: [Filter] = []
            for part in composite.filters {
                filters.append(try filter(part, budget: &budget))
            }
            switch composite.op {
            case .and: return .and(filters)
            case .or: return .or(filters)
            case .unspecified, .UNRECOGNIZED:
                throw .invalidArgument("a composite filter has no known operator")
            }
        }
    }

    private func decode(_ message: Google_Firestore_V1_StructuredQuery.FieldFilter)
        throws(LarderError) -> FieldFilter
    {
        let path = try decode(fieldPath: message.field.fieldPath)
        guard let op = FieldFilter.Operator(message.op) else {
            throw .invalidArgument("the filter on '\(path)' has no known operator")
        }
        let value = try decode(message.value)
        if case .array(let values) = value, let limit = maxValues(of: op), values.count > limit {
            throw .invalidArgument(
                "'\(op.rawValue)' has \(values.count) values; \(limit) are allowed")
        }
        if path.isDocumentID { try checkNames(in: value) }
        // Unary filters ask for null and NaN. A comparison with them matches as a list does that
        // has nothing else.
        if value.isNullOrNaN, op == .equal || op == .notEqual {
            return FieldFilter(path, op == .equal ? .in : .notIn, .array([value]))
        }
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
            throw .invalidArgument("the filter on '\(path)' has no known operator")
        }
    }

    private func maxValues(of op: FieldFilter.Operator) -> Int? {
        switch op {
        case .in, .arrayContainsAny: limits.maxDisjunctions
        case .notIn: limits.maxExclusions
        default: nil
        }
    }

    /// Checks that references, alone or in a list, are to documents of the database.
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
    /// The operator of a condition that needs no value; nil for others.
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
