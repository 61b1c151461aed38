import Foundation
package import LarderModel

/// The first documents of a stream in an order; holds at most the limit.
///
/// A candidate is compared in place with the last document held, and copied only if it precedes
/// that document. Not thread-safe.
package struct TopDocuments {
    private let limit: Int?
    private let comparator: DocumentComparator
    /// A heap with the last document on top, once the limit is reached.
    private var documents: [Document] = []
    /// The first ordered field of the last document, once the limit is reached.
    private var threshold: EncodedValue?

    /// Creates a collector; without a limit it holds all documents.
    package init(_ limit: Int?, by comparator: DocumentComparator) {
        self.limit = limit
        self.comparator = comparator
    }

    package var count: Int { documents.count }

    /// The approximate size in memory of the documents held.
    package private(set) var heldBytes = 0

    /// The last document held, once the limit is reached.
    package var last: Document? { isFull ? documents.first : nil }

    /// Copies and adds a document if it is among the first so far.
    ///
    /// Logarithmic in the limit if it is added, otherwise one comparison.
    ///
    /// - Throws: errors of the closure; `dataLoss` for a damaged record.
    package mutating func offer(
        _ record: borrowing RecordView, at path: borrowing DocumentPathView,
        _ copy: () throws(LarderError) -> Document
    ) throws(LarderError) {
        if isFull {
            guard try isBeforeLast(record, at: path) else { return }
        }
        insert(try copy())
    }

    /// Adds a document if it is among the first so far.
    package mutating func offer(_ document: Document) {
        if isFull {
            guard let last = documents.first, isOrdered(document, last) else { return }
        }
        insert(document)
    }

    /// Removes and returns the documents, in order.
    package mutating func takeSorted() -> [Document] {
        var taken: [Document] = []
        swap(&taken, &documents)
        (threshold, heldBytes) = (nil, 0)
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
        heldBytes += document.heldBytes
        if isFull {
            heldBytes -= documents[0].heldBytes
            documents[0] = document
            sink(from: 0)
        } else {
            documents.append(document)
            guard isFull else { return }
            for position in (0..<documents.count / 2).reversed() { sink(from: position) }
        }
        threshold = documents.first.flatMap(comparator.leadingValue)
    }

    /// Restores the heap's order below a position.
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

extension Document {
    /// The size of a document in memory without its record, with a path of usual length.
    private static let baseBytes = 160

    /// The approximate size in memory.
    package var heldBytes: Int {
        Self.baseBytes + (record?.memoryBytes ?? 0)
    }
}
