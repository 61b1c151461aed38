import Foundation
package import LarderDocumentStore
package import LarderModel
package import LarderQuery

/// The documents that a search for nearest vectors found, and the cost.
package struct NearestResult: Sendable {
    package struct Match: Sendable {
        package let document: Document
        package let distance: Double
    }

    /// The nearest first; equally near documents are in the order of the query.
    package let matches: [Match]
    package let execution: QueryExecution

    /// The result with other forms of its documents.
    package func map(_ transform: (Document) -> Document) -> NearestResult {
        NearestResult(
            matches: matches.map {
                Match(document: transform($0.document), distance: $0.distance)
            }, execution: execution)
    }
}

extension QueryRunner {
    /// The documents of a query whose vectors are nearest to another one.
    ///
    /// Exact: the vectors of all matches of the query are compared, where they are stored. Only
    /// documents that are among the nearest so far are copied.
    ///
    /// - Parameters:
    ///   - query: a query without a limit and bounds.
    ///   - charge: is charged for the documents that are held.
    /// - Throws: as ``run(_:from:in:charge:)``.
    ///
    /// Complexity: linear in the matches and the length of vectors.
    package func nearest<T: ReadableTransaction & ~Copyable>(
        _ search: NearestSearch, of query: Query, in transaction: borrowing T,
        charge: QueryCharge? = nil
    ) throws(LarderError) -> NearestResult {
        let start = ContinuousClock.now
        let ordering = ResultOrdering(query)
        let choice = try plan(query, ordering, in: transaction)
        let run = try QueryRun(query, ordering, choice, user: user, charge: charge)
        let field = PreparedField(search.field)
        var found = NearestDocuments(search, by: run.comparator)
        try run.forEachMatch(of: choice.plan, in: transaction) { entry throws(LarderError) in
            let distance = try entry.record.withValue(at: field) { search.distance(of: $0) }
            if let distance = distance ?? nil {
                try found.offer(distance, entry)
                try run.hold(found.heldBytes)
            }
            return .continue
        }
        run.execution.documentsReturned = found.matches.count
        run.execution.microseconds = start.microsecondsSince
        return NearestResult(matches: found.matches, execution: run.execution)
    }
}

/// The nearest documents so far, in order.
private struct NearestDocuments {
    private let search: NearestSearch
    private let comparator: DocumentComparator
    private(set) var matches: [NearestResult.Match] = []
    private(set) var heldBytes = 0

    init(_ search: NearestSearch, by comparator: DocumentComparator) {
        self.search = search
        self.comparator = comparator
    }

    /// Copies and adds a document if it is among the nearest.
    mutating func offer(_ distance: Double, _ entry: borrowing DocumentEntry) throws(LarderError) {
        if matches.count == search.limit {
            guard let last = matches.last, try precedes(distance, entry, last) else { return }
        }
        var (low, high) = (0, matches.count)
        while low < high {
            let middle = (low + high) / 2
            if try precedes(distance, entry, matches[middle]) {
                high = middle
            } else {
                low = middle + 1
            }
        }
        if matches.count == search.limit {
            heldBytes -= matches.removeLast().document.heldBytes
        }
        let document = try entry.document()
        heldBytes += document.heldBytes
        matches.insert(NearestResult.Match(document: document, distance: distance), at: low)
    }

    private func precedes(
        _ distance: Double, _ entry: borrowing DocumentEntry, _ other: NearestResult.Match
    ) throws(LarderError) -> Bool {
        switch search.measure.order(distance, other.distance) {
        case .orderedAscending: true
        case .orderedDescending: false
        case .orderedSame:
            try comparator.compare(entry.record, at: entry.pathView, with: other.document)
                == .orderedAscending
        }
    }
}
