package import Foundation
package import LarderModel

/// The order of the documents of a query: field by field, then by name, so that no two documents
/// are equal.
///
/// It may be used on several threads at once, for documents in memory and of one store.
package struct DocumentComparator: Sendable {
    private let fields: [(field: PreparedField, isDescending: Bool)]
    private let isNameDescending: Bool

    /// The order of a query's ``Query/orders``; by name at the end where they have none.
    package init(orders: [Order]) {
        let name = orders.firstIndex { $0.path.isDocumentID }
        fields = orders[..<(name ?? orders.endIndex)].map {
            (PreparedField($0.path), $0.isDescending)
        }
        isNameDescending = name.map { orders[$0].isDescending } ?? false
    }

    /// The order of two documents.
    ///
    /// A missing field, which no result of the query has, sorts before every value.
    package func compare(_ left: Document, _ right: Document) -> ComparisonResult {
        if !fields.isEmpty {
            let order = compare(left.record, right.record)
            if order != .orderedSame { return order }
        }
        return directed(left.path.compare(to: right.path), isNameDescending)
    }

    /// The order of two shared documents; only the compared fields are read.
    func compare(_ left: StoredDocument, _ right: StoredDocument) -> ComparisonResult {
        if !fields.isEmpty {
            let order = compare(left.document.record, right.document.record)
            if order != .orderedSame { return order }
        }
        let order = left.document.path.compare(to: right.document.path)
        return directed(order, isNameDescending)
    }

    /// The order of two lent documents.
    ///
    /// - Throws: `dataLoss` when a record's compressed part is damaged.
    package func compare(
        _ left: borrowing RecordView, at leftPath: borrowing DocumentPathView,
        with right: borrowing RecordView, at rightPath: borrowing DocumentPathView
    ) throws(LarderError) -> ComparisonResult {
        let order = try compare(left, right)
        if order != .orderedSame { return order }
        return directed(leftPath.compare(to: rightPath), isNameDescending)
    }

    /// The order of a lent document and one in memory.
    ///
    /// - Throws: `dataLoss` when the lent record's compressed part is damaged.
    package func compare(
        _ left: borrowing RecordView, at path: borrowing DocumentPathView, with right: Document
    ) throws(LarderError) -> ComparisonResult {
        if !fields.isEmpty, let record = right.record {
            let order = try record.withView { (right) throws(LarderError) in
                try compare(left, right)
            }
            if order != .orderedSame { return order }
        }
        return directed(path.compare(to: right.path), isNameDescending)
    }

    /// The order of a lent document and one in memory by their fields alone, without their names.
    ///
    /// - Throws: `dataLoss` when the lent record's compressed part is damaged.
    package func compareFields(_ left: borrowing RecordView, with right: Document)
        throws(LarderError) -> ComparisonResult
    {
        guard !fields.isEmpty, let record = right.record else { return .orderedSame }
        return try record.withView { (right) throws(LarderError) in try compare(left, right) }
    }

    /// The value of the first ordered field, to compare many documents with one; nil when the
    /// document has none, or names come first.
    func leadingValue(of document: Document) -> EncodedValue? {
        guard let field = fields.first?.field, let value = document[field.path] else { return nil }
        return try? EncodedValue(value)
    }

    /// True if a lent document comes before one with a leading value; same if later fields decide.
    func compare(_ left: borrowing RecordView, toLeadingValue value: EncodedValue)
        throws(LarderError) -> ComparisonResult
    {
        guard let (field, isDescending) = fields.first else { return .orderedSame }
        let order = try left.compare(field, to: value) ?? .orderedAscending
        return directed(order, isDescending)
    }

    private func compare(_ left: Record?, _ right: Record?) -> ComparisonResult {
        guard let left, let right else {
            return left == nil
                ? (right == nil ? .orderedSame : .orderedAscending) : .orderedDescending
        }
        // The bytes were checked when the records were made, so that reading does not fail.
        let order = try? left.withView { (left) throws(LarderError) in
            try right.withView { (right) throws(LarderError) in try compare(left, right) }
        }
        return order ?? .orderedSame
    }

    private func compare(_ left: borrowing RecordView, _ right: borrowing RecordView)
        throws(LarderError) -> ComparisonResult
    {
        for (field, isDescending) in fields {
            let order = try Self.compare(field, left, right)
            if order != .orderedSame { return directed(order, isDescending) }
        }
        return .orderedSame
    }

    private static func compare(
        _ field: PreparedField, _ left: borrowing RecordView, _ right: borrowing RecordView
    ) throws(LarderError) -> ComparisonResult {
        if let order = try left.compare(field, with: right) { return order }
        guard try left.type(of: field) == nil else { return .orderedDescending }
        return try right.type(of: field) == nil ? .orderedSame : .orderedAscending
    }

    private func directed(_ order: ComparisonResult, _ isDescending: Bool) -> ComparisonResult {
        isDescending ? order.reversed : order
    }
}
