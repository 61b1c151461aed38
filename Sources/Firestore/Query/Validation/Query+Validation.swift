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
    ///   an order that nobody gave.
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
