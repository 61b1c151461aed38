import LarderCore
import LarderRealtimeModel

/// A location with the order, the bounds and the limit of a query; the superclass of
/// ``DatabaseReference``.
///
/// Immutable; methods return new queries. Where Apple's SDK terminates the program because of a
/// misuse, such as a second order or a limit of 0, the query keeps the error: observers are
/// cancelled with it, and every operation fails with ``DatabaseError/kind`` `invalidArgument`.
public class DatabaseQuery: @unchecked Sendable {
    // Immutable, also in the subclass.

    /// The parts of a query.
    struct Target: Hashable {
        var path: TreePath
        var builder = QueryBuilder()

        var spec: QuerySpec { QuerySpec(path, builder.parameters) }
    }

    let owner: Database

    /// The location and the parameters, or what is wrong with them.
    let target: Result<Target, LarderError>

    init(_ owner: Database, _ target: Result<Target, LarderError>) {
        self.owner = owner
        self.target = target
    }

    /// The reference to the query's location.
    public var ref: DatabaseReference {
        DatabaseReference(owner, target.map(\.path))
    }

    /// The query, to be executed.
    var spec: Result<QuerySpec, LarderError> { target.map(\.spec) }

    private func with(
        _ change: (QueryBuilder) throws(LarderError) -> QueryBuilder
    ) -> DatabaseQuery {
        let target = target.flatMap { target in
            Result { () throws(LarderError) in
                Target(path: target.path, builder: try change(target.builder))
            }
        }
        return DatabaseQuery(owner, target)
    }
}

// MARK: - Orders

extension DatabaseQuery {
    /// The children ordered by the values of a child or a deeper path of theirs, such as `height`
    /// or `dimensions/height`.
    public func queryOrdered(byChild key: String) -> DatabaseQuery {
        with { (query) throws(LarderError) in try query.ordered(byChild: key) }
    }

    /// The children ordered by their keys.
    public func queryOrderedByKey() -> DatabaseQuery {
        with { (query) throws(LarderError) in try query.ordered(by: .key) }
    }

    /// The children ordered by their values.
    public func queryOrderedByValue() -> DatabaseQuery {
        with { (query) throws(LarderError) in try query.ordered(by: .value) }
    }

    /// The children ordered by their priorities, which is the default.
    public func queryOrderedByPriority() -> DatabaseQuery {
        with { (query) throws(LarderError) in try query.ordered(by: .priority) }
    }
}

// MARK: - Limits

extension DatabaseQuery {
    /// At most so many children, from the beginning of the order.
    public func queryLimited(toFirst limit: UInt) -> DatabaseQuery {
        with { (query) throws(LarderError) in try query.limited(toFirst: Int(clamping: limit)) }
    }

    /// At most so many children, from the end of the order.
    public func queryLimited(toLast limit: UInt) -> DatabaseQuery {
        with { (query) throws(LarderError) in try query.limited(toLast: Int(clamping: limit)) }
    }
}

// MARK: - Bounds

extension DatabaseQuery {
    /// The children from a value on: a number, a boolean, a string or `nil`.
    public func queryStarting(atValue startValue: Any?) -> DatabaseQuery {
        queryStarting(atValue: startValue, childKey: nil)
    }

    /// The children from a value on, and from a key on among those of that value.
    public func queryStarting(atValue startValue: Any?, childKey: String?) -> DatabaseQuery {
        with { (query) throws(LarderError) in
            try query.starting(at: JSONValue(userValue: startValue), key: childKey)
        }
    }

    /// The children above a value.
    public func queryStarting(afterValue startAfterValue: Any?) -> DatabaseQuery {
        queryStarting(afterValue: startAfterValue, childKey: nil)
    }

    /// The children above a value, and above a key among those of that value.
    public func queryStarting(afterValue startAfterValue: Any?, childKey: String?) -> DatabaseQuery
    {
        with { (query) throws(LarderError) in
            try query.starting(after: JSONValue(userValue: startAfterValue), key: childKey)
        }
    }

    /// The children up to a value.
    public func queryEnding(atValue endValue: Any?) -> DatabaseQuery {
        queryEnding(atValue: endValue, childKey: nil)
    }

    /// The children up to a value, and up to a key among those of that value.
    public func queryEnding(atValue endValue: Any?, childKey: String?) -> DatabaseQuery {
        with { (query) throws(LarderError) in
            try query.ending(at: JSONValue(userValue: endValue), key: childKey)
        }
    }

    /// The children below a value.
    public func queryEnding(beforeValue endBeforeValue: Any?) -> DatabaseQuery {
        queryEnding(beforeValue: endBeforeValue, childKey: nil)
    }

    /// The children below a value, and below a key among those of that value.
    public func queryEnding(beforeValue endBeforeValue: Any?, childKey: String?) -> DatabaseQuery {
        with { (query) throws(LarderError) in
            try query.ending(before: JSONValue(userValue: endBeforeValue), key: childKey)
        }
    }

    /// The children of a value.
    public func queryEqual(toValue value: Any?) -> DatabaseQuery {
        queryEqual(toValue: value, childKey: nil)
    }

    /// The child of a value and a key.
    public func queryEqual(toValue value: Any?, childKey: String?) -> DatabaseQuery {
        with { (query) throws(LarderError) in
            try query.equal(to: JSONValue(userValue: value), key: childKey)
        }
    }
}

// MARK: - Equality

extension DatabaseQuery: Hashable {
    /// True if both ask the same database the same.
    public static func == (left: DatabaseQuery, right: DatabaseQuery) -> Bool {
        left.owner === right.owner && left.isReference == right.isReference
            && (try? left.target.get()) == (try? right.target.get())
    }

    /// True if the other object is a query and equal by `==`.
    public func isEqual(_ object: Any?) -> Bool { (object as? DatabaseQuery) == self }

    /// Hashes the location and the parameters.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(owner))
        hasher.combine(try? target.get())
    }

    private var isReference: Bool { self is DatabaseReference }
}
