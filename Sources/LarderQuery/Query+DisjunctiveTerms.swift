import LarderModel

extension Query {
    /// The filters as alternatives, each a list of conditions that hold together.
    ///
    /// For planning: `in` comes as one alternative for each of its values, tested with `==`, which
    /// takes 1 and 1.0 for the same, so that documents found this way are tested again. `in` on
    /// the name stays as it is. No alternative means that nothing matches, one without conditions
    /// that everything may.
    ///
    /// - Parameter limit: how many alternatives are worth having; a query of a few filters can
    ///   have millions.
    /// - Returns: nil where there are, or on the way would be, more. Then plan without them: scan
    ///   the place and test the query, which needs no such form.
    package func disjunctiveTerms(limit: Int = 100) -> [[FieldFilter]]? {
        Filter.and(filters).disjunctiveTerms(limit: limit)
    }
}

extension Filter {
    /// The filter as alternatives; see ``Query/disjunctiveTerms(limit:)``.
    func disjunctiveTerms(limit: Int) -> [[FieldFilter]]? {
        switch self {
        case .field(let filter):
            let terms = filter.alternatives.map { [$0] }
            return terms.count <= limit ? terms : nil
        case .or(let filters):
            var terms: [[FieldFilter]] = []
            for filter in filters {
                guard let more = filter.disjunctiveTerms(limit: limit),
                    terms.count + more.count <= limit
                else { return nil }
                terms += more
            }
            return terms
        case .and(let filters):
            var terms: [[FieldFilter]] = [[]]
            for filter in filters {
                guard let more = filter.disjunctiveTerms(limit: limit),
                    terms.count * more.count <= limit
                else { return nil }
                terms = terms.flatMap { left in more.map { left + $0 } }
            }
            return terms
        }
    }
}

extension FieldFilter {
    /// `in` as conditions of which one holds at least, one for each different value.
    fileprivate var alternatives: [FieldFilter] {
        guard op == .in, !path.isDocumentID, case .array(let values) = value else { return [self] }
        var seen: Set<Value> = []
        return values.filter { seen.insert($0).inserted }.map { FieldFilter(path, .equal, $0) }
    }
}
