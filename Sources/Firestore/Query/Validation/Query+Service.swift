package import LarderModel

extension Query {
    /// Checks the rules that Firestore's service has and its clients do not check, in addition to
    /// those of ``validate()``.
    ///
    /// The messages are Firestore's: applications show and look for them.
    ///
    /// - Throws: `invalidArgument` for an order behind that by name and for two orders by one
    ///   field, for an equality on the name beside an inequality on another field only, for two
    ///   array filters that hold together, and for `not-in` beside an `or`.
    package func validateForService() throws(LarderError) {
        let orders = orders
        if let position = orders.firstIndex(where: \.path.isDocumentID),
            position < orders.count - 1
        {
            throw .invalidArgument("order by clause cannot contain more fields after the key")
        }
        var ordered: Set<FieldPath> = []
        for order in orders where !ordered.insert(order.path).inserted {
            throw .invalidArgument("order by clause cannot contain duplicate fields \(order.path)")
        }
        let conditions = fieldFilters
        let onName = conditions.filter(\.path.isDocumentID)
        if onName.contains(where: { $0.op == .equal || $0.op == .in }),
            !onName.contains(where: \.op.isInequality),
            conditions.contains(where: \.op.isInequality)
        {
            throw .invalidArgument(
                "Equality on key is not allowed if there are other inequality fields and key "
                    + "does not appear in inequalities.")
        }
        if conditions.contains(where: { $0.op == .notIn }), filters.contains(where: \.hasOr) {
            throw .invalidArgument(
                "'NOT_IN' cannot be used in the same query with 'IN', 'ARRAY_CONTAINS_ANY' or "
                    + "'OR'.")
        }
        guard Filter.and(filters).arrayFilterCount <= 1 else {
            throw .invalidArgument(
                "A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction.")
        }
    }
}

extension Filter {
    /// Whether it is or has an `or`.
    fileprivate var hasOr: Bool {
        switch self {
        case .field: false
        case .or: true
        case .and(let filters): filters.contains(where: \.hasOr)
        }
    }

    /// The most array filters that one alternative has; the same one beside itself counts once.
    fileprivate var arrayFilterCount: Int {
        switch self {
        case .field(let filter): [.arrayContains, .arrayContainsAny].contains(filter.op) ? 1 : 0
        case .or(let filters): filters.lazy.map(\.arrayFilterCount).max() ?? 0
        case .and(let filters): Set(filters).reduce(0) { min(2, $0 + $1.arrayFilterCount) }
        }
    }
}
