/// The parameters of a query in the making, as an application chains their parts.
///
/// Every step throws `invalidArgument` for what its result must not be.
package struct QueryBuilder: Hashable, Sendable {
    package private(set) var parameters: QueryParameters
    private var isOrdered = false

    /// All children, ordered by priority.
    package init() {
        parameters = .default
    }

    private func with(
        _ change: (inout QueryBuilder) throws(LarderError) -> Void
    ) throws(LarderError) -> QueryBuilder {
        var copy = self
        try change(&copy)
        try copy.checkBounds()
        return copy
    }

    // MARK: Orders

    /// Ordered by an index.
    package func ordered(by index: NodeIndex) throws(LarderError) -> QueryBuilder {
        try with { (copy) throws(LarderError) in
            guard !isOrdered else {
                throw .invalidValue("a query is ordered already; only one order is allowed")
            }
            copy.isOrdered = true
            copy.parameters.index = index
        }
    }

    /// Ordered by the values at a path below the children.
    package func ordered(byChild text: String) throws(LarderError) -> QueryBuilder {
        switch text {
        case "$key", ".key": throw .invalidValue("'\(text)' is no child: order by key instead")
        case "$value", ".value":
            throw .invalidValue("'\(text)' is no child: order by value instead")
        case "$priority", ".priority":
            throw .invalidValue("'\(text)' is no child: order by priority instead")
        default: break
        }
        let path = try TreePath(validating: text)
        guard !path.isEmpty else { throw .invalidPath("the path to order by is empty") }
        return try ordered(by: .child(path))
    }

    // MARK: Bounds

    /// From a value on, or from a key on among children of that value.
    package func starting(
        at value: JSONValue, key: String? = nil
    ) throws(LarderError) -> QueryBuilder {
        try starting(try Self.bound(value, key, isInclusive: true))
    }

    /// Above a value, or above a key among children of that value.
    package func starting(
        after value: JSONValue, key: String? = nil
    ) throws(LarderError) -> QueryBuilder {
        try starting(try Self.bound(value, key, isInclusive: false))
    }

    /// Up to a value, or up to a key among children of that value.
    package func ending(
        at value: JSONValue, key: String? = nil
    ) throws(LarderError) -> QueryBuilder {
        try ending(try Self.bound(value, key, isInclusive: true))
    }

    /// Below a value, or below a key among children of that value.
    package func ending(
        before value: JSONValue, key: String? = nil
    ) throws(LarderError) -> QueryBuilder {
        try ending(try Self.bound(value, key, isInclusive: false))
    }

    /// Only children of a value, or the one of that value and a key.
    package func equal(
        to value: JSONValue, key: String? = nil
    ) throws(LarderError) -> QueryBuilder {
        let bound = try Self.bound(value, key, isInclusive: true)
        return try starting(bound).ending(bound)
    }

    private func starting(_ bound: QueryParameters.Bound) throws(LarderError) -> QueryBuilder {
        try with { (copy) throws(LarderError) in
            guard parameters.start == nil else {
                throw .invalidValue("a query has a start already")
            }
            copy.parameters.start = bound
        }
    }

    private func ending(_ bound: QueryParameters.Bound) throws(LarderError) -> QueryBuilder {
        try with { (copy) throws(LarderError) in
            guard parameters.end == nil else { throw .invalidValue("a query has an end already") }
            copy.parameters.end = bound
        }
    }

    private static func bound(
        _ json: JSONValue, _ key: String?, isInclusive: Bool
    ) throws(LarderError) -> QueryParameters.Bound {
        QueryParameters.Bound(
            try IndexValue(bound: json),
            key: try key.map { (text) throws(LarderError) in
                try ChildKey(validating: text)
            }, isInclusive: isInclusive)
    }

    private func checkBounds() throws(LarderError) {
        for bound in [parameters.start, parameters.end] {
            guard let bound else { continue }
            switch (parameters.index, bound.value) {
            case (.key, .leaf(.string)):
                guard bound.key == nil else {
                    throw .invalidValue(
                        "a query ordered by key takes no key beside the bound's value")
                }
            case (.key, _):
                throw .invalidValue("a query ordered by key has bounds that are strings")
            case (.priority, .leaf(.boolean)):
                throw .invalidValue(
                    "a query ordered by priority has bounds that are null, numbers or strings")
            default: break
            }
        }
    }

    // MARK: Limits

    /// At most so many children, from the beginning of the order.
    package func limited(toFirst count: Int) throws(LarderError) -> QueryBuilder {
        try limited(to: count, from: .first)
    }

    /// At most so many children, from the end of the order.
    package func limited(toLast count: Int) throws(LarderError) -> QueryBuilder {
        try limited(to: count, from: .last)
    }

    private func limited(
        to count: Int, from anchor: QueryParameters.Limit.Anchor
    ) throws(LarderError) -> QueryBuilder {
        guard (1...Int(Int32.max)).contains(count) else {
            throw .invalidValue("a limit of \(count) is not between 1 and \(Int32.max)")
        }
        return try with { (copy) throws(LarderError) in
            guard parameters.limit == nil else {
                throw .invalidValue("a query has a limit already")
            }
            copy.parameters.limit = QueryParameters.Limit(count, from: anchor)
        }
    }
}

extension IndexValue {
    /// The value of a bound.
    init(bound json: JSONValue) throws(LarderError) {
        switch json {
        case .null: self = .null
        case .boolean(let flag): self = .leaf(.boolean(flag))
        case .integer(let integer): self = .leaf(.integer(integer))
        case .double(let double):
            guard let value = LeafValue.double(double) else {
                throw .invalidValue("\(double) is no bound of a query")
            }
            self = .leaf(value)
        case .string(let text): self = .leaf(.string(text))
        case .array, .object:
            throw .invalidValue("a bound of a query is null, a boolean, a number or a string")
        }
    }
}
