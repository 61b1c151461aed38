import LarderModel
import LarderQuery
import LarderSync
import SimulationSupport

/// Random queries, few enough that listeners share some.
extension Chance {
    /// A query that a backend accepts.
    func query() throws(LarderError) -> Query {
        var query = Query(
            try pick(
                [
                    (6, .collection(CollectionPath("c"))), (2, .collection(CollectionPath("d"))),
                    (2, .collection(CollectionPath("c/0/d"))), (3, .group("d")),
                    (1, .collection(CollectionPath("alice"))), (4, .document(path())),
                ] as [(weight: Int, element: Query.Source)]))
        if case .document = query.source { return query }
        if oneIn(2) { query.filters.append(try filter()) }
        if oneIn(6) {
            let filter = try filter()
            // A query has at most one inequality with `!=`.
            let all = (query.filters + [filter]).flatMap(\.fieldFilters)
            if all.filter({ $0.op == .notEqual }).count < 2 { query.filters.append(filter) }
        }
        for name in ["n", "m"] where oneIn(4) {
            query.explicitOrders.append(Order(try FieldPath(name), isDescending: oneIn(2)))
        }
        if oneIn(2) {
            query.limit = oneIn(2) ? .first(1 + below(3)) : .last(1 + below(3))
            // Only an ordered query has a limit to the last documents.
            if query.explicitOrders.isEmpty { query.explicitOrders.append(Order(.documentID)) }
        }
        if let first = query.explicitOrders.first, !first.path.isDocumentID, oneIn(5) {
            let bound = Bound([.integer(Int64(below(4)))], isInclusive: oneIn(2))
            if oneIn(2) { query.start = bound } else { query.end = bound }
        }
        if (try? query.validateForService()) == nil { query.filters = [] }
        return query
    }

    private func filter() throws(LarderError) -> Filter {
        let path = try FieldPath(pick(["n", "m"]))
        let op = below(8)
        let filter =
            switch op {
            case 0: FieldFilter(path, .greaterThan, .integer(Int64(below(3))))
            case 1: FieldFilter(path, .lessThanOrEqual, .integer(Int64(below(3))))
            case 2: FieldFilter(path, .in, .array([value(), .integer(1)]))
            case 3: FieldFilter(try FieldPath("l"), .arrayContains, value())
            case 4: FieldFilter(path, .notEqual, .integer(Int64(below(3))))
            default: FieldFilter(path, .equal, .integer(Int64(below(4))))
            }
        return op > 4 && oneIn(6)
            ? .or([.field(filter), .field(FieldFilter(path, .equal, .integer(3)))]) : .field(filter)
    }

    /// Random options of a listener.
    func listenOptions() -> ListenOptions {
        ListenOptions(
            includeMetadataChanges: oneIn(2), waitForSyncWhenOnline: oneIn(8),
            source: oneIn(8) ? .cache : .default)
    }
}
