import Foundation
import LarderModel
import LarderQuery

/// The documents that a query with a limit has, kept up to date by the changes of documents.
struct LimitWindow {
    private let limit: Int
    private(set) var documents: DocumentSet

    /// The documents of a query, as many as its limit lets in.
    init(_ query: Query, _ documents: [Document]) {
        limit = query.limit?.count ?? .max
        self.documents = DocumentSet(
            documents, comparator: DocumentComparator(orders: query.orders))
    }

    /// Takes in changed documents, each as it is now; false where documents that were behind the
    /// limit may have moved up, so that the query must be run again.
    ///
    /// - Parameter matches: whether a document matches the query, but for the limit.
    mutating func apply(_ changed: [Document], matches: (Document) -> Bool) -> Bool {
        // What is not here comes behind the last one, as long as it does not change.
        let bound = documents.count < limit ? nil : documents.last
        for document in changed {
            if matches(document) {
                documents.insert(document)
            } else {
                documents.remove(document.path)
            }
        }
        if let bound {
            guard documents.count >= limit else { return false }
            let last = documents[documents.index(documents.startIndex, offsetBy: limit - 1)]
            guard documents.comparator.compare(last, bound) != .orderedDescending else {
                return false
            }
        }
        while documents.count > limit, let last = documents.last { documents.remove(last.path) }
        return true
    }
}
