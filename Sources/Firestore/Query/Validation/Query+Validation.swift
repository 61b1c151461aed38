package import LarderModel

extension Query {
    /// Checks every rule about the query itself.
    ///
    /// - Throws: `invalidArgument` for operators that exclude each other, lists that are empty or
    ///   no lists, values that cannot be compared with, a limit below 1, a bound of more values
    ///   than there are orders, or anything but the path in a query for one document.
    package func validate() throws(LarderError) {
        try validateSource()
        try Filter.checkDepth(of: filters)
        let conditions = fieldFilters
        for filter in conditions { try filter.validate() }
        try FieldFilter.checkConflicts(in: conditions)
        if let limit { try limit.validate() }
        for bound in [start, end] {
            if let bound { try validate(bound) }
        }
    }

    /// Checks every rule about the query, and those that count once its result is asked for.
    ///
    /// - Throws: as ``validate()``, and `invalidArgument` for a limit that counts from the end of
    ///   an order that was not requested.
    package func validateForExecution() throws(LarderError) {
        try validate()
        guard !isLimitedToLast || !explicitOrders.isEmpty else {
            throw .invalidArgument("limit(toLast:) needs at least one order(by:)")
        }
    }

    private func validateSource() throws(LarderError) {
        switch source {
        case .collection: break
        case .group(let id):
            guard !id.utf8.isEmpty, !id.utf8.contains(UInt8(ascii: "/")) else {
                throw .invalidName("a collection group's id is empty or contains a slash: '\(id)'")
            }
        case .document:
            guard filters.isEmpty, explicitOrders.isEmpty, limit == nil, start == nil, end == nil
            else {
                throw .invalidArgument(
                    "a query for one document takes no filters, orders, limit or bounds")
            }
        }
    }

    private func validate(_ bound: Bound) throws(LarderError) {
        let orders = orders
        guard !bound.values.isEmpty else { throw .invalidArgument("a bound has no values") }
        guard bound.values.count <= orders.count else {
            throw .invalidArgument(
                "a bound has \(bound.values.count) values, the query \(orders.count) orders")
        }
        for (value, order) in zip(bound.values, orders) {
            guard order.path.isDocumentID else {
                try value.validateAsBound(of: order.path)
                continue
            }
            guard value.referencedDocument != nil else {
                throw .invalidArgument("a bound on the document's name is not a reference")
            }
        }
    }
}

extension Query.Limit {
    /// Checks that the limit is 1 at least.
    func validate() throws(LarderError) {
        guard count > 0 else {
            throw .invalidArgument("a limit is 1 at least; this one is \(count)")
        }
    }
}

// MARK: - Disjunctions

extension Query {
    /// The number of alternatives in the filters' disjunctive normal form, as Firestore counts
    /// them.
    ///
    /// Each branch of an `or` is one, and each value of an `in` or `array-contains-any`; what an
    /// `or` has twice counts once. Filters that hold together multiply, up to `Int.max`.
    package var disjunctionCount: Int { Filter.and(filters).disjunctionCount }
}

extension Filter {
    fileprivate var disjunctionCount: Int {
        switch self {
        case .field, .or:
            // Branches of which each is one condition, or conditions that hold together.
            return Set(branches).reduce(0) { count, branch in
                let more = if case .and = branch { branch.disjunctionCount } else { 1 }
                let (sum, isOver) = count.addingReportingOverflow(more)
                return isOver ? .max : sum
            }
        case .and(let filters):
            return Set(filters).reduce(1) { count, filter in
                let (product, isOver) = count.multipliedReportingOverflow(
                    by: filter.disjunctionCount)
                return isOver ? .max : product
            }
        }
    }

    /// The branches of the filter taken as an `or`: lists as a condition for each value.
    private var branches: [Filter] {
        switch self {
        case .field(let filter):
            guard let op = filter.op.ofOneValue, case .array(let values) = filter.value else {
                return [self]
            }
            return values.map { .field(FieldFilter(filter.path, op, $0)) }
        case .or(let filters): return filters.flatMap(\.branches)
        case .and(let filters): return filters.count == 1 ? filters[0].branches : [self]
        }
    }
}

extension FieldFilter.Operator {
    /// The operator that tests against one value of a list as this one against them all.
    fileprivate var ofOneValue: FieldFilter.Operator? {
        switch self {
        case .in: .equal
        case .arrayContainsAny: .arrayContains
        default: nil
        }
    }
}

// MARK: - Services

extension Query {
    /// Checks the rules that Firestore's service has and its clients do not check, in addition to
    /// those of ``validate()``.
    ///
    /// The messages are Firestore's: applications show and look for them.
    ///
    /// - Throws: `invalidArgument` for an order after that by document ID and for two orders by one
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
    /// True if it is or has an `or`.
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
