import Foundation
import LarderModel
import LarderQuery

/// The documents from which a limited view is filled again between the steps of one commit, while the
/// store has the changes of all steps already.
///
/// It has two kinds of documents: of those that no later step changes, the first results of the query
/// (or the last ones), as many as the limit; and all matching documents that a later step changes, in
/// the states that they have after the present step.
struct CommitWindow: Sendable {
    private var documents: DocumentSet

    init(_ documents: [Document], by comparator: DocumentComparator) {
        self.documents = DocumentSet(documents, comparator: comparator)
    }

    /// Applies the changes of a step.
    mutating func apply(_ changes: some Sequence<LocalChange>, matching matcher: QueryMatcher) {
        documents.apply(
            changes.map { change in
                let isMatch = change.after.map { matcher.matches($0) } ?? false
                return (documents.place(of: change.path), isMatch ? change.after : nil)
            })
    }

    /// The query's results.
    func results(_ limit: Query.Limit) -> [Document] {
        switch limit {
        case .first(let count): Array(documents.prefix(count))
        case .last(let count): Array(documents.suffix(count))
        }
    }
}

extension Query {
    /// The query with a larger limit, if it has one.
    func extended(by count: Int) -> Query {
        var query = self
        switch limit {
        case .first(let limit): query.limit = .first(limit.saturatingAdd(count))
        case .last(let limit): query.limit = .last(limit.saturatingAdd(count))
        case nil: break
        }
        return query
    }
}

extension [Document] {
    /// The documents in the query's order, some of them replaced by other states.
    ///
    /// - Parameter states: the states of the replaced documents, nil for a document that is unknown;
    ///   those that do not match are left out.
    func replacing(
        _ states: [DocumentPath: Document?], matching matcher: QueryMatcher,
        by comparator: DocumentComparator
    ) -> [Document] {
        var documents = filter { states[$0.path] == nil }
        for case let state? in states.values where matcher.matches(state) {
            documents.append(state)
        }
        return documents.sorted { comparator.compare($0, $1) == .orderedAscending }
    }
}

extension Int {
    fileprivate func saturatingAdd(_ other: Int) -> Int {
        let (sum, isOverflow) = addingReportingOverflow(other)
        return isOverflow ? .max : sum
    }
}
