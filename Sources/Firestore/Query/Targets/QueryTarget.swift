import LarderModel

/// The target of a query as sent to the backend: with all orders explicit and the limit counted
/// from the start.
///
/// Several queries can have the same target: the last two by ascending age are the first two by
/// descending age. Filters are compared in order, including duplicates.
package struct QueryTarget: Sendable, Hashable {
    package let source: Query.Source
    /// The filters, which must all match.
    package let filters: [Filter]
    /// All orders, ending with the document name.
    package let orders: [Order]
    /// The maximum number of documents from the start; nil for all.
    package let limit: Int?
    package let start: Bound?
    package let end: Bound?

    init(
        source: Query.Source, filters: [Filter], orders: [Order], limit: Int?, start: Bound?,
        end: Bound?
    ) {
        self.source = source
        self.filters = filters
        self.orders = orders
        self.limit = limit
        self.start = start
        self.end = end
    }

    /// The query, limited from its start, that asks for this target.
    package var query: Query {
        // A query for one document names no orders.
        let isDocument = if case .document = source { true } else { false }
        return Query(
            source, filters: filters,
            orders: isDocument && orders == [Order(.documentID)] ? [] : orders,
            limit: limit.map { .first($0) }, start: start, end: end)
    }

    /// The query, limited from its end, that asks for this target; nil without a limit.
    package var queryLimitedToLast: Query? {
        guard let limit else { return nil }
        return Query(
            source, filters: filters, orders: orders.map(\.turnedRound), limit: .last(limit),
            start: end, end: start)
    }
}

extension Order {
    fileprivate var turnedRound: Order { Order(path, isDescending: !isDescending) }
}

extension Query {
    /// With a limit counted from the end, every order is reversed, and start and end are exchanged,
    /// each with its inclusiveness.
    package var target: QueryTarget {
        var (orders, start, end) = (orders, start, end)
        if case .last = limit {
            orders = orders.map(\.turnedRound)
            (start, end) = (end, start)
        }
        return QueryTarget(
            source: source, filters: filters, orders: orders, limit: limit?.count, start: start,
            end: end)
    }

    package var isLimitedToLast: Bool {
        if case .last = limit { true } else { false }
    }
}

extension Query: Hashable {
    /// Whether both have the same target and the same kind of limit.
    package static func == (left: Query, right: Query) -> Bool {
        left.isLimitedToLast == right.isLimitedToLast && left.target == right.target
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(isLimitedToLast)
        hasher.combine(target)
    }
}

// MARK: - Canonical IDs

/// Canonical IDs: text for looking up targets. It is stored, so this format never changes.
///
///     cities|f:pop>0x4059000000000000,or(a==1,b==x)|ob:popdesc,__name__desc|l:2|lb:b:9|ub:a:1
///     |cg:landmarks|f:|ob:__name__asc
///
/// - The path, empty for a group, and the group's ID.
/// - `f` the filters, separated by commas. An `and` of field filters is written like separate
///   filters; other composites as `and(…)` and `or(…)`.
/// - `ob` all orders; `l` the limit.
/// - `lb` and `ub` the start and the end: `b:` if the edge is before the values, that is an
///   inclusive start or an exclusive end, `a:` if it is after them.
/// - Strings and integers as they are, doubles as their bits, independent of number formatting;
///   timestamps `time(seconds,nanoseconds)`; bytes in hexadecimal; references as their path below
///   the database.
extension QueryTarget {
    /// The canonical ID, equal for equal targets.
    ///
    /// Different targets can share it, such as those with `3` and `"3"`: compare targets after a
    /// look-up.
    package var canonicalID: String {
        var text = ""
        switch source {
        case .collection(let path): text += path.string
        case .document(let path): text += path.string
        case .group(let id): text += "|cg:" + id
        }
        text += "|f:" + filters.map(\.canonicalText).joined(separator: ",")
        text += "|ob:"
        text += orders.map { $0.path.canonicalString + ($0.isDescending ? "desc" : "asc") }
            .joined(separator: ",")
        if let limit { text += "|l:\(limit)" }
        if let start { text += "|lb:" + (start.isInclusive ? "b:" : "a:") + start.canonicalText }
        if let end { text += "|ub:" + (end.isInclusive ? "a:" : "b:") + end.canonicalText }
        return text
    }
}

extension Query {
    /// The canonical ID of the target, with the end from which the limit counts.
    package var canonicalID: String {
        switch limit {
        case nil: target.canonicalID
        case .first: target.canonicalID + "|lt:f"
        case .last: target.canonicalID + "|lt:l"
        }
    }
}

extension Filter {
    fileprivate var canonicalText: String {
        switch self {
        case .field(let filter):
            filter.path.canonicalString + filter.op.rawValue + filter.value.canonicalText
        case .and(let filters) where filters.allSatisfy(\.isField):
            Self.joined(filters)
        case .and(let filters):
            "and(\(Self.joined(filters)))"
        case .or(let filters):
            "or(\(Self.joined(filters)))"
        }
    }

    private var isField: Bool {
        if case .field = self { true } else { false }
    }

    private static func joined(_ filters: [Filter]) -> String {
        filters.map(\.canonicalText).joined(separator: ",")
    }
}

extension Bound {
    fileprivate var canonicalText: String {
        values.map(\.canonicalText).joined(separator: ",")
    }
}

extension Value {
    fileprivate var canonicalText: String {
        switch self {
        case .null: "null"
        case .boolean(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .double(let value): Self.canonicalText(value)
        case .timestamp(let value): Self.canonicalText(value)
        case .serverTimestamp(let value): "server(\(Self.canonicalText(value.localWriteTime)))"
        case .string(let value): value
        case .bytes(let value): value.map { Self.hexadecimal(UInt64($0), digits: 2) }.joined()
        case .reference(let value): value.document?.string ?? value.string
        case .geoPoint(let value):
            "geo(\(Self.canonicalText(value.latitude)),\(Self.canonicalText(value.longitude)))"
        case .array(let values):
            "[" + values.map(\.canonicalText).joined(separator: ",") + "]"
        case .vector(let value):
            "vector[" + value.components.map(Self.canonicalText).joined(separator: ",") + "]"
        case .map(let entries):
            "{" + entries.map { "\($0.name):\($0.value.canonicalText)" }.joined(separator: ",")
                + "}"
        case .max: "max"
        }
    }

    private static func canonicalText(_ time: Timestamp) -> String {
        "time(\(time.seconds),\(time.nanoseconds))"
    }

    private static func canonicalText(_ number: Double) -> String {
        "0x" + hexadecimal(number.firestoreBits, digits: 16)
    }

    private static func hexadecimal(_ number: UInt64, digits: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: Swift.max(0, digits - text.count)) + text
    }
}
