import Foundation
package import LarderModel

/// A filter prepared for testing records in place.
indirect enum FilterTest: Sendable {
    case compare(ComparisonTest)
    /// The field exists, is not null, and is not equivalent to the value.
    case isNotEqual(PreparedField, EncodedValue)
    case isIn(PreparedField, EncodedValueSet)
    /// The field exists, is not null, and is equivalent to none of the values.
    case isNotIn(PreparedField, EncodedValueSet)
    /// The field is an array, and an element is equivalent to one of the values.
    case contains(PreparedField, EncodedValueSet)
    case documentID(DocumentIDFilter)
    case all([FilterTest])
    case any([FilterTest])
    /// Matches nothing.
    case never

    init(_ filter: Filter, _ fields: inout PreparedFields) throws(LarderError) {
        switch filter {
        case .field(let filter): try self.init(filter, &fields)
        case .and(let filters): self = .all(try Self.tests(of: filters, &fields))
        case .or(let filters): self = .any(try Self.tests(of: filters, &fields))
        }
    }

    /// The tests of several filters, cheapest first.
    static func tests(of filters: [Filter], _ fields: inout PreparedFields)
        throws(LarderError) -> [FilterTest]
    {
        try filters.map { filter throws(LarderError) in try FilterTest(filter, &fields) }
            .enumerated()
            .sorted { ($0.element.cost, $0.offset) < ($1.element.cost, $1.offset) }
            .map(\.element)
    }

    private init(_ filter: FieldFilter, _ fields: inout PreparedFields) throws(LarderError) {
        if filter.path.isDocumentID {
            self = .documentID(try DocumentIDFilter(filter))
            return
        }
        let field = fields[filter.path]
        switch filter.op {
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
            let accepted = AcceptedOrders(filter.op) ?? .same
            self =
                filter.value.isNullOrNaN
                ? .never : .compare(try ComparisonTest(field, filter.value, accepted))
        case .equal:
            self = .compare(try ComparisonTest(field, filter.value, .same))
        case .notEqual:
            self = .isNotEqual(field, try EncodedValue(filter.value))
        case .arrayContains:
            self = .contains(field, try EncodedValueSet([filter.value]))
        case .arrayContainsAny:
            self = .contains(field, try EncodedValueSet(filter.listedValues()))
        case .in:
            self = .isIn(field, try EncodedValueSet(filter.listedValues()))
        case .notIn:
            let values = try filter.listedValues()
            self = values.contains(.null) ? .never : .isNotIn(field, try EncodedValueSet(values))
        }
    }

    /// The rough cost of a test; tests of cold or long values come last.
    private var cost: Int {
        switch self {
        case .never: 0
        case .compare, .isNotEqual: 1
        case .documentID, .isIn, .isNotIn: 2
        case .contains: 3
        case .all, .any: 4
        }
    }

    func matches(_ record: borrowing RecordView, at path: borrowing DocumentPathView)
        throws(LarderError) -> Bool
    {
        switch self {
        case .compare(let test):
            return try test.matches(record)
        case .isNotEqual(let field, let value):
            switch try record.compare(field, to: value) {
            case nil, .orderedSame?: return false
            case .orderedAscending?: return try record.type(of: field) != .null
            case .orderedDescending?: return true
            }
        case .isIn(let field, let values):
            return try record.withValue(at: field) { values.contains($0) } ?? false
        case .isNotIn(let field, let values):
            return try record.withValue(at: field) { value in
                value.type != .null && !values.contains(value)
            } ?? false
        case .contains(let field, let values):
            return try record.withValue(at: field) { values.containsElement(of: $0) } ?? false
        case .documentID(let test):
            return test.matches(path)
        case .all(let tests):
            for test in tests where try !test.matches(record, at: path) { return false }
            return true
        case .any(let tests):
            for test in tests where try test.matches(record, at: path) { return true }
            return false
        case .never:
            return false
        }
    }
}

/// The fields of a query, each prepared only once.
struct PreparedFields {
    private var fields: [FieldPath: PreparedField] = [:]

    subscript(path: FieldPath) -> PreparedField {
        mutating get {
            if let known = fields[path] { return known }
            let field = PreparedField(path)
            fields[path] = field
            return field
        }
    }
}

extension FieldFilter {
    func listedValues() throws(LarderError) -> [Value] {
        guard case .array(let values) = value else {
            throw .invalidArgument("'\(op.rawValue)' requires a list of values")
        }
        return values
    }
}

// MARK: - Document IDs

enum DocumentIDFilter: Sendable {
    case compare(DocumentPath, AcceptedOrders)
    case isIn([DocumentPath])
    case isNotIn([DocumentPath])

    init(_ filter: FieldFilter) throws(LarderError) {
        if let accepted = AcceptedOrders(filter.op) {
            self = .compare(try filter.value.documentPath(for: filter.op), accepted)
            return
        }
        guard filter.op == .in || filter.op == .notIn, case .array(let values) = filter.value
        else {
            throw .invalidArgument(
                "'\(filter.op.rawValue)' does not apply to a document name with this value")
        }
        var paths: Set<DocumentPath> = []
        for value in values { paths.insert(try value.documentPath(for: filter.op)) }
        self = filter.op == .in ? .isIn(paths.sorted()) : .isNotIn(paths.sorted())
    }

    func matches(_ path: borrowing DocumentPathView) -> Bool {
        switch self {
        case .compare(let other, let accepted): accepted.accepts(path.compare(to: other))
        case .isIn(let paths): Self.contains(path, in: paths)
        case .isNotIn(let paths): !Self.contains(path, in: paths)
        }
    }

    private static func contains(_ path: borrowing DocumentPathView, in paths: [DocumentPath])
        -> Bool
    {
        var (low, high) = (0, paths.count)
        while low < high {
            let middle = (low + high) / 2
            switch path.compare(to: paths[middle]) {
            case .orderedAscending: high = middle
            case .orderedSame: return true
            case .orderedDescending: low = middle + 1
            }
        }
        return false
    }
}

extension Value {
    fileprivate func documentPath(for op: FieldFilter.Operator) throws(LarderError) -> DocumentPath
    {
        guard let path = referencedDocument else {
            throw .invalidArgument(
                "'\(op.rawValue)' can compare a document name only with references")
        }
        return path
    }

    /// The document that a reference names; nil for other values.
    package var referencedDocument: DocumentPath? {
        if case .reference(let name) = self { name.document } else { nil }
    }
}
