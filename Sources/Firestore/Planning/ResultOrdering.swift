import LarderModel
import LarderQuery

/// The requested order of results, with its bounds and limit.
///
/// The limit counts from the start: a limit to the last documents reverses orders and bounds.
struct ResultOrdering: Sendable {
    let orders: [Order]
    let start: Bound?
    let end: Bound?
    let limit: Int?
    /// Whether the results must be reversed at the end.
    let isReversed: Bool

    init(_ query: Query) {
        limit = query.limit?.count
        if case .last? = query.limit {
            isReversed = true
            orders = query.orders.map { Order($0.path, isDescending: !$0.isDescending) }
            (start, end) = (query.end, query.start)
        } else {
            isReversed = false
            orders = query.orders
            (start, end) = (query.start, query.end)
        }
    }

    /// Whether an order has no effect, because its field has a fixed value or an earlier order.
    func isRedundant(_ position: Int, in term: Conjunction) -> Bool {
        let path = orders[position].path
        return term.constant(at: path) != nil
            || orders[..<position].contains { $0.path == path }
    }

    /// The direction of the document ID among a term's documents, if no other order precedes it.
    func documentIDDirection(in term: Conjunction) -> Bool? {
        let first = orders.indices.first { !isRedundant($0, in: term) }
        guard let first, orders[first].path.isDocumentID else { return nil }
        return orders[first].isDescending
    }
}

/// The part of the requested order in which a plan yields its documents.
struct ProvidedOrder: Sendable, Hashable {
    /// The number of leading orders that the documents are sorted by.
    var orderCount: Int
    /// True if the documents are completely sorted.
    var isComplete: Bool
    /// True if only the document ID is in the wrong direction.
    var lacksDocumentIDOnly = false

    static let none = ProvidedOrder(orderCount: 0, isComplete: false)
    static let complete = ProvidedOrder(orderCount: 0, isComplete: true)
}
