import Foundation
package import LarderModel

/// A query prepared for testing documents one after the other, in place.
///
/// Create one for each run of a query. Allocates nothing for a candidate, except to compare numeric
/// IDs. Thread-safe.
package final class QueryMatcher: Sendable {
    private let source: Query.Source
    private let testsSource: Bool
    /// The plain comparisons, which precede all other filters.
    private let comparisons: [ComparisonTest]
    private let filters: [FilterTest]
    private let bounds: [BoundTest]
    /// The ordered fields that no filter tests.
    private let requiredFields: [PreparedField]
    /// Whether there are tests besides the scope and the plain comparisons.
    private let hasFurtherTests: Bool

    /// - Parameters:
    ///   - query: the query to match; its limit is ignored.
    ///   - isSourceKnown: whether all candidates are in the query's scope, so that their paths are
    ///     not tested.
    /// - Throws: `invalidArgument` for values that ``Query/validate()`` rejects.
    package init(_ query: Query, isSourceKnown: Bool = false) throws(LarderError) {
        var fields = PreparedFields()
        let orders = query.orders
        source = query.source
        testsSource = !isSourceKnown
        var comparisons: [ComparisonTest] = []
        filters = try FilterTest.tests(of: query.filters, &fields).filter { test in
            guard case .compare(let comparison) = test else { return true }
            comparisons.append(comparison)
            return false
        }
        self.comparisons = comparisons
        var bounds: [BoundTest] = []
        if let start = query.start {
            bounds.append(try BoundTest(start, isStart: true, orders, &fields))
        }
        if let end = query.end {
            bounds.append(try BoundTest(end, isStart: false, orders, &fields))
        }
        self.bounds = bounds
        let tested = Set(
            query.filters.compactMap { filter in
                if case .field(let filter) = filter { filter.path } else { nil }
            })
        var required: [PreparedField] = []
        for order in orders where !order.path.isDocumentID && !tested.contains(order.path) {
            required.append(fields[order.path])
        }
        requiredFields = required
        hasFurtherTests = !(filters.isEmpty && bounds.isEmpty && required.isEmpty)
    }

    /// Whether an existing document matches: scope, filters, ordered fields and bounds.
    ///
    /// - Throws: `dataLoss` if the record's compressed part is damaged.
    package func matches(_ record: borrowing RecordView, at path: borrowing DocumentPathView)
        throws(LarderError) -> Bool
    {
        if testsSource, !isInSource(path) { return false }
        for comparison in comparisons where try !comparison.matches(record) { return false }
        guard hasFurtherTests else { return true }
        return try matchesFurther(record, at: path)
    }

    private func matchesFurther(
        _ record: borrowing RecordView, at path: borrowing DocumentPathView
    ) throws(LarderError) -> Bool {
        for filter in filters where try !filter.matches(record, at: path) { return false }
        for field in requiredFields where try record.type(of: field) == nil { return false }
        for bound in bounds where try !bound.admits(record, at: path) { return false }
        return true
    }

    package func matches(_ document: Document) -> Bool {
        guard document.exists, let record = document.record else { return false }
        // The bytes were validated when the record was created, so that reading cannot fail.
        let result = try? document.path.withView { (path) throws(LarderError) in
            try record.withView { (record) throws(LarderError) in
                try matches(record, at: path)
            }
        }
        return result ?? false
    }

    private func isInSource(_ path: borrowing DocumentPathView) -> Bool {
        switch source {
        case .collection(let collection): path.isDirectly(in: collection)
        case .group(let id): path.isInGroup(id)
        case .document(let document): path.isEqual(to: document)
        }
    }
}

// MARK: - Bounds

struct BoundTest: Sendable {
    private enum Position {
        case field(PreparedField, EncodedValue)
        case name(DocumentPath)
    }

    private let positions: [(position: Position, isDescending: Bool)]
    private let accepted: AcceptedOrders

    /// A bound on the leading orders of a query.
    init(_ bound: Bound, isStart: Bool, _ orders: [Order], _ fields: inout PreparedFields)
        throws(LarderError)
    {
        guard bound.values.count <= orders.count else {
            throw .invalidArgument(
                "a bound has \(bound.values.count) values for \(orders.count) orders")
        }
        var positions: [(Position, Bool)] = []
        for (value, order) in zip(bound.values, orders) {
            if !order.path.isDocumentID {
                let field = Position.field(fields[order.path], try EncodedValue(value))
                positions.append((field, order.isDescending))
            } else if let path = value.referencedDocument {
                positions.append((.name(path), order.isDescending))
            } else {
                throw .invalidArgument("a bound on the document name must be a reference")
            }
        }
        self.positions = positions
        let beyond: AcceptedOrders = isStart ? .above : .below
        accepted = bound.isInclusive ? beyond.union(.same) : beyond
    }

    /// Whether a document is within the bound; false if it lacks a field.
    func admits(_ record: borrowing RecordView, at path: borrowing DocumentPathView)
        throws(LarderError) -> Bool
    {
        for (position, isDescending) in positions {
            let found: ComparisonResult? =
                switch position {
                case .field(let field, let value): try record.compare(field, to: value)
                case .name(let name): path.compare(to: name)
                }
            guard let order = found else { return false }
            if order != .orderedSame {
                return accepted.accepts(isDescending ? order.reversed : order)
            }
        }
        return accepted.accepts(.orderedSame)
    }
}
