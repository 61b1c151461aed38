import LarderModel

extension Query {
    /// How many alternatives the filters come down to, as Firestore counts them.
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
