import LarderModel
import LarderQuery

/// In what order documents are wanted, between which places and how many: with the limit at the
/// beginning, so that a limit to the last documents has everything turned round.
struct Arrangement: Sendable {
    let orders: [Order]
    let start: Bound?
    let end: Bound?
    let limit: Int?
    /// Whether what comes out is to be turned round at the end.
    let isTurned: Bool

    init(_ query: Query) {
        limit = query.limit?.count
        if case .last? = query.limit {
            isTurned = true
            orders = query.orders.map { Order($0.path, isDescending: !$0.isDescending) }
            (start, end) = (query.end, query.start)
        } else {
            isTurned = false
            orders = query.orders
            (start, end) = (query.start, query.end)
        }
    }

    /// Whether an order says nothing new, since its field came before or has one place only.
    func isSettled(_ position: Int, in term: Conjunction) -> Bool {
        let path = orders[position].path
        return term.constant(at: path) != nil
            || orders[..<position].contains { $0.path == path }
    }

    /// The direction of the name among documents of a term, where nothing comes before it.
    func nameDirection(in term: Conjunction) -> Bool? {
        let first = orders.indices.first { !isSettled($0, in: term) }
        guard let first, orders[first].path.isDocumentID else { return nil }
        return orders[first].isDescending
    }
}

/// How far documents come in the order that is wanted.
struct Delivery: Sendable, Hashable {
    /// The orders from the first one that the documents come in.
    var orderCount: Int
    /// Whether these are all.
    var isComplete: Bool
    /// Whether these are all but the name, which comes the wrong way round.
    var lacksNameOnly = false

    static let none = Delivery(orderCount: 0, isComplete: false)
    static let complete = Delivery(orderCount: 0, isComplete: true)
}
