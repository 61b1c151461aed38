import Foundation
package import LarderModel

/// The first documents of a stream in an order: holds at most the limit, however many are offered.
///
/// A candidate is compared in place with the last of those held, and copied only when it comes
/// before that one. Use it on one thread at a time.
package struct TopDocuments {
    private let limit: Int?
    private let comparator: DocumentComparator
    /// With a limit that is reached a heap with the last document on top.
    private var documents: [Document] = []
    /// With a limit that is reached the first ordered field of the last document.
    private var threshold: EncodedValue?

    /// Holds the first documents in an order; all of them without a limit.
    package init(_ limit: Int?, by comparator: DocumentComparator) {
        self.limit = limit
        self.comparator = comparator
    }

    /// The number of documents held.
    package var count: Int { documents.count }

    /// The last of the documents held, once there are as many as the limit says.
    package var last: Document? { isFull ? documents.first : nil }

    /// Takes a lent document if it is among the first so far; then only it is copied.
    ///
    /// Logarithmic in the limit when it is taken, else one comparison.
    ///
    /// - Throws: what the closure throws; `dataLoss` for a damaged record.
    package mutating func offer(
        _ record: borrowing RecordView, at path: borrowing DocumentPathView,
        _ copy: () throws(LarderError) -> Document
    ) throws(LarderError) {
        if isFull {
            guard try isBeforeLast(record, at: path) else { return }
        }
        insert(try copy())
    }

    /// Takes a document if it is among the first so far.
    package mutating func offer(_ document: Document) {
        if isFull {
            guard let last = documents.first, isOrdered(document, last) else { return }
        }
        insert(document)
    }

    /// The documents held, in order; none are left.
    package mutating func takeSorted() -> [Document] {
        var taken: [Document] = []
        swap(&taken, &documents)
        threshold = nil
        taken.sort(by: isOrdered)
        return taken
    }

    private var isFull: Bool { limit.map { documents.count >= $0 } ?? false }

    private func isBeforeLast(_ record: borrowing RecordView, at path: borrowing DocumentPathView)
        throws(LarderError) -> Bool
    {
        guard let last = documents.first else { return false }
        if let threshold {
            let order = try comparator.compare(record, toLeadingValue: threshold)
            if order != .orderedSame { return order == .orderedAscending }
        }
        return try comparator.compare(record, at: path, with: last) == .orderedAscending
    }

    private mutating func insert(_ document: Document) {
        if isFull {
            documents[0] = document
            sink(from: 0)
        } else {
            documents.append(document)
            guard isFull else { return }
            for position in (0..<documents.count / 2).reversed() { sink(from: position) }
        }
        threshold = documents.first.flatMap(comparator.leadingValue)
    }

    /// Moves a document down until none below it comes later in the order.
    private mutating func sink(from position: Int) {
        var parent = position
        while true {
            var latest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < documents.count {
                if isOrdered(documents[latest], documents[child]) { latest = child }
            }
            guard latest != parent else { return }
            documents.swapAt(parent, latest)
            parent = latest
        }
    }

    private func isOrdered(_ left: Document, _ right: Document) -> Bool {
        comparator.compare(left, right) == .orderedAscending
    }
}
