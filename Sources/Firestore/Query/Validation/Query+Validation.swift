package import LarderModel

extension Query {
    /// Validates the query itself.
    ///
    /// - Throws: `invalidArgument` for conflicting operators, operands that are empty or no lists,
    ///   values that cannot be compared, a limit below 1, a bound with more values than orders, or
    ///   anything but the path in a query for one document.
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

    /// Validates the query for execution.
    ///
    /// - Throws: as ``validate()``, and `invalidArgument` for a limit from the end without an
    ///   explicit order.
    package func validateForExecution() throws(LarderError) {
        try validate()
        guard !isLimitedToLast || !explicitOrders.isEmpty else {
            throw .invalidArgument("limit(toLast:) requires at least one order(by:)")
        }
    }

    private func validateSource() throws(LarderError) {
        switch source {
        case .collection: break
        case .group(let id):
            guard !id.utf8.isEmpty, !id.utf8.contains(UInt8(ascii: "/")) else {
                throw .invalidName(
                    "the ID of a collection group is empty or contains a slash: '\(id)'")
            }
        case .document:
            guard filters.isEmpty, explicitOrders.isEmpty, limit == nil, start == nil, end == nil
            else {
                throw .invalidArgument(
                    "a query for one document cannot have filters, orders, a limit or bounds")
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
                throw .invalidArgument("a bound on the document name must be a reference")
            }
        }
    }
}

extension Query.Limit {
    func validate() throws(LarderError) {
        guard count > 0 else {
            throw .invalidArgument("a limit must be at least 1; this one is \(count)")
        }
    }
}

// MARK: - Disjunctions

extension Query {
    /// The number of disjunctions in the filters' disjunctive normal form, as Firestore counts
    /// them.
    ///
    /// Each branch of an `or` counts, and each value of an `in` or `array-contains-any`, without
    /// duplicates within an `or`. The counts of conjuncts multiply, saturating at `Int.max`.
    package var disjunctionCount: Int { Filter.and(filters).disjunctionCount }
}

extension Filter {
    fileprivate var disjunctionCount: Int {
        switch self {
        case .field, .or:
            // Branches that are single conditions or conjunctions.
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

    /// The branches of the filter as an `or`: for a list operator, a condition for each value.
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
    /// The operator that tests one value of a list like this one tests all of them.
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
    /// Validates the rules of Firestore's service that clients do not check, in addition to those
    /// of ``validate()``.
    ///
    /// The messages are Firestore's, because applications display and match them.
    ///
    /// - Throws: `invalidArgument` for an order after that by document ID, two orders by one field,
    ///   an equality on the name combined with an inequality on another field only, two array
    ///   filters in a conjunction, and `not-in` combined with `or`.
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
    fileprivate var hasOr: Bool {
        switch self {
        case .field: false
        // An empty one stands for what matches nothing.
        case .or(let filters): !filters.isEmpty
        case .and(let filters): filters.contains(where: \.hasOr)
        }
    }

    /// The maximum number of distinct array filters of a disjunction.
    fileprivate var arrayFilterCount: Int {
        switch self {
        case .field(let filter): [.arrayContains, .arrayContainsAny].contains(filter.op) ? 1 : 0
        case .or(let filters): filters.lazy.map(\.arrayFilterCount).max() ?? 0
        case .and(let filters): Set(filters).reduce(0) { min(2, $0 + $1.arrayFilterCount) }
        }
    }
}
