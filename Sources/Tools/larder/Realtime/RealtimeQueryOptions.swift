import ArgumentParser
import LarderCore
import LarderRealtime

/// The options of a query of the Realtime Database: location, order, bounds and limit.
struct RealtimeQueryOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The path of a location; / is the root.", valueName: "path"))
    var path: String

    @Option(
        name: .customLong("order-by"),
        help: ArgumentHelp(
            "Order by a child, such as height or dimensions/height.", valueName: "child"))
    var child: String?

    @Flag(help: "Order by key.")
    var orderByKey = false

    @Flag(help: "Order by value.")
    var orderByValue = false

    @Flag(help: "Order by priority (default).")
    var orderByPriority = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Start at this value of the order.", valueName: "value"))
    var startAt: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Start after this value.", valueName: "value"))
    var startAfter: String?

    @Option(
        help: ArgumentHelp(
            "The key to start at among children of the value to start at.", valueName: "key"))
    var startKey: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End at this value.", valueName: "value"))
    var endAt: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End before this value.", valueName: "value"))
    var endBefore: String?

    @Option(
        help: ArgumentHelp(
            "The key to end at among children of the value to end at.", valueName: "key"))
    var endKey: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only children of this value.", valueName: "value"))
    var equalTo: String?

    @Option(help: ArgumentHelp("At most this number of first children.", valueName: "count"))
    var limitToFirst: UInt?

    @Option(help: ArgumentHelp("At most this number of last children.", valueName: "count"))
    var limitToLast: UInt?

    mutating func validate() throws {
        let orders = [child != nil, orderByKey, orderByValue, orderByPriority]
        if orders.count(where: { $0 }) > 1 {
            throw ValidationError("Only one of the options --order-by... can be given.")
        }
        for (first, second, names) in [
            (startAt, startAfter, "--start-at and --start-after"),
            (endAt, endBefore, "--end-at and --end-before"),
        ] where first != nil && second != nil {
            throw ValidationError("\(names) cannot be combined.")
        }
        if limitToFirst != nil && limitToLast != nil {
            throw ValidationError("--limit-to-first and --limit-to-last cannot be combined.")
        }
        if startKey != nil && startAt == nil && startAfter == nil {
            throw ValidationError("--start-key requires --start-at or --start-after.")
        }
        if endKey != nil && endAt == nil && endBefore == nil {
            throw ValidationError("--end-key requires --end-at or --end-before.")
        }
    }

    /// The subject of errors about the query.
    var subject: String { "the query of '\(path)'" }

    /// The query in a database; an invalid one fails when it is used.
    func query(in database: Database) -> DatabaseQuery {
        var query: DatabaseQuery = database.reference(withPath: path)
        if let child {
            query = query.queryOrdered(byChild: child)
        } else if orderByKey {
            query = query.queryOrderedByKey()
        } else if orderByValue {
            query = query.queryOrderedByValue()
        } else if orderByPriority {
            query = query.queryOrderedByPriority()
        }
        if let startAt {
            query = query.queryStarting(atValue: bound(startAt), childKey: startKey)
        }
        if let startAfter {
            query = query.queryStarting(afterValue: bound(startAfter), childKey: startKey)
        }
        if let endAt { query = query.queryEnding(atValue: bound(endAt), childKey: endKey) }
        if let endBefore {
            query = query.queryEnding(beforeValue: bound(endBefore), childKey: endKey)
        }
        if let equalTo { query = query.queryEqual(toValue: bound(equalTo)) }
        if let limitToFirst { query = query.queryLimited(toFirst: limitToFirst) }
        if let limitToLast { query = query.queryLimited(toLast: limitToLast) }
        return query
    }

    /// A bound: keys are strings, others JSON or a word.
    private func bound(_ text: String) -> Any {
        orderByKey ? text : RealtimeJSON.userValue(RealtimeJSON.word(text))
    }
}
