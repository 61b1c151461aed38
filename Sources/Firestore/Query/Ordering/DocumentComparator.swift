package import Foundation
package import LarderModel

/// The total order of the documents of a query: field by field, then by name.
///
/// Thread-safe, for documents in memory and of one store.
package struct DocumentComparator: Sendable {
    private let fields: [(field: PreparedField, isDescending: Bool)]
    private let isNameDescending: Bool

    /// The order of a query's ``Query/orders``, ending with the document name.
    package init(orders: [Order]) {
        let name = orders.firstIndex { $0.path.isDocumentID }
        fields = orders[..<(name ?? orders.endIndex)].map {
            (PreparedField($0.path), $0.isDescending)
        }
        isNameDescending = name.map { orders[$0].isDescending } ?? false
    }

    /// A missing field, which no result of the query has, sorts before every value.
    package func compare(_ left: Document, _ right: Document) -> ComparisonResult {
        if !fields.isEmpty {
            let order = compare(left.record, right.record)
            if order != .orderedSame { return order }
        }
        return directed(left.path.compare(to: right.path), isNameDescending)
    }

    /// The order of two shared documents; reads only the compared fields.
    func compare(_ left: StoredDocument, _ right: StoredDocument) -> ComparisonResult {
        if !fields.isEmpty {
            let order = compare(left.document.record, right.document.record)
            if order != .orderedSame { return order }
        }
        let order = left.document.path.compare(to: right.document.path)
        return directed(order, isNameDescending)
    }

    /// True if documents are ordered by their names, and by no field.
    var isByName: Bool { fields.isEmpty }

    /// The order of a shared document's name and another one; the whole order if that is by name.
    func compare(_ left: StoredDocument, toName path: DocumentPath) -> ComparisonResult {
        directed(left.document.path.compare(to: path), isNameDescending)
    }

    /// The order of two documents in place.
    ///
    /// - Throws: `dataLoss` if a record's compressed part is damaged.
    package func compare(
        _ left: borrowing RecordView, at leftPath: borrowing DocumentPathView,
        with right: borrowing RecordView, at rightPath: borrowing DocumentPathView
    ) throws(LarderError) -> ComparisonResult {
        let order = try compare(left, right)
        if order != .orderedSame { return order }
        return directed(leftPath.compare(to: rightPath), isNameDescending)
    }

    /// The order of a document in place and one in memory.
    ///
    /// - Throws: `dataLoss` if the record's compressed part is damaged.
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

    /// The order of a document in place and one in memory by their fields, without their names.
    ///
    /// - Throws: `dataLoss` if the record's compressed part is damaged.
    package func compareFields(_ left: borrowing RecordView, with right: Document)
        throws(LarderError) -> ComparisonResult
    {
        guard !fields.isEmpty, let record = right.record else { return .orderedSame }
        return try record.withView { (right) throws(LarderError) in try compare(left, right) }
    }

    /// The value of the first ordered field, for comparing many documents with one; nil if the
    /// document has none, or the first order is by name.
    func leadingValue(of document: Document) -> EncodedValue? {
        guard let field = fields.first?.field, let value = document[field.path] else { return nil }
        return try? EncodedValue(value)
    }

    /// The order of a document in place relative to a leading value; same if later fields decide.
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
        // The bytes were validated when the records were created, so that reading cannot fail.
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
