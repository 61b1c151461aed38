import ArgumentParser
import Larder
import LarderModel

/// The options of a query: source, conditions, orders, limits and cursors.
struct QueryOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "A collection; with --group a collection ID at any depth.",
            valueName: "collection"))
    var collection: String

    @Flag(help: "Query all collections with this ID.")
    var group = false

    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "Only documents that match this condition (may be repeated: all must match).",
            valueName: "condition"))
    var conditions: [String] = []

    @Option(
        name: .customLong("order"),
        help: ArgumentHelp(
            "Order by this field (may be repeated for further fields).", valueName: "field"))
    var orders: [String] = []

    @Flag(name: .customLong("desc"), help: "Make the preceding --order descending.")
    var isDescending = false

    @Option(help: ArgumentHelp("The maximum number of documents.", valueName: "count"))
    var limit: Int?

    @Option(
        help: ArgumentHelp(
            "Only this number of last documents, in the query's order.", valueName: "count"))
    var last: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Start at these values of the orders, separated by commas.", valueName: "values"))
    var startAt: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Start after these values.", valueName: "values"))
    var startAfter: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End at these values.", valueName: "values"))
    var endAt: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End before these values.", valueName: "values"))
    var endBefore: String?

    mutating func validate() throws {
        if isDescending {
            throw ValidationError("--desc must follow the --order that it applies to.")
        }
        if limit != nil && last != nil {
            throw ValidationError("--limit and --last cannot be combined.")
        }
        for (name, count) in [("--limit", limit), ("--last", last)] {
            if let count, count < 1 { throw ValidationError("\(name) must be positive.") }
        }
        if startAt != nil && startAfter != nil {
            throw ValidationError("--start-at and --start-after cannot be combined.")
        }
        if endAt != nil && endBefore != nil {
            throw ValidationError("--end-at and --end-before cannot be combined.")
        }
    }

    /// True without conditions, orders, limits and cursors.
    var isPlain: Bool {
        conditions.isEmpty && orders.isEmpty && limit == nil && last == nil && startAt == nil
            && startAfter == nil && endAt == nil && endBefore == nil
    }

    var subject: String { "query of '\(collection)'" }

    /// Parses all expressions before the store is opened.
    func parsed(_ databaseID: DatabaseID) throws -> ParsedQuery {
        if group {
            guard !collection.isEmpty, !collection.utf8.contains(UInt8(ascii: "/")) else {
                throw ToolError(
                    .usage, "--group requires a collection ID, not '\(collection)'",
                    hint: "specify the last segment of their paths, e.g. landmarks")
            }
        } else {
            _ = try PathArgument.collection(collection)
        }
        var query = ParsedQuery(collection: collection, isGroup: group)
        for text in conditions {
            let condition = try expression("--where", text) { () throws(ExpressionFailure) in
                try WhereExpression(
                    text, database: databaseID, numberLikeWords: &query.numberLikeWords)
            }
            query.conditions.append(condition)
        }
        for text in orders {
            query.orders.append(
                try expression("--order", text) { () throws(ExpressionFailure) in
                    try OrderArgument(text)
                })
        }
        if let limit { query.limit = .first(limit) }
        if let last { query.limit = .last(last) }
        func values(_ option: String, _ text: String?) throws -> [Value]? {
            guard let text else { return nil }
            return try expression(option, text) { () throws(ExpressionFailure) in
                var scanner = ExpressionScanner(text, database: databaseID)
                return try scanner.takeValues()
            }
        }
        query.startAt = try values("--start-at", startAt)
        query.startAfter = try values("--start-after", startAfter)
        query.endAt = try values("--end-at", endAt)
        query.endBefore = try values("--end-before", endBefore)
        return query
    }
}

/// Runs a parser; its failures become usage errors that name the option.
func expression<Result>(
    _ option: String, _ text: String, _ read: () throws(ExpressionFailure) -> Result
) throws(ToolError) -> Result {
    do throws(ExpressionFailure) {
        return try read()
    } catch {
        throw ToolError(error, in: option, text)
    }
}

/// The argument of `--order`: `population`, `population desc`.
struct OrderArgument: Equatable {
    let field: LarderModel.FieldPath
    let isDescending: Bool

    /// Parses a field with an optional direction.
    init(_ text: String) throws(ExpressionFailure) {
        // Without values, the database of references is irrelevant.
        var scanner = ExpressionScanner(text, database: DatabaseID(project: "-", database: "-"))
        field = try scanner.takeField()
        isDescending = scanner.takeWord("desc")
        if !isDescending { _ = scanner.takeWord("asc") }
        guard scanner.isAtEnd else {
            throw scanner.failure("expected 'asc', 'desc' or the end, found \(scanner.found)")
        }
    }

    /// Merges each `--desc` into the preceding `--order`.
    static func joined(_ arguments: [String]) -> [String] {
        var result: [String] = []
        var order: Int?
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" { return result + [argument] + rest }
            if argument == "--order", let field = rest.popFirst() {
                result += [argument, field]
                order = result.count - 1
            } else if argument.hasPrefix("--order=") {
                result.append(argument)
                order = result.count - 1
            } else if argument == "--desc", let position = order {
                result[position] += " desc"
                order = nil
            } else {
                result.append(argument)
            }
        }
        return result
    }
}

struct ParsedQuery {
    enum Limit {
        case first(Int)
        case last(Int)
    }

    let collection: String
    let isGroup: Bool
    var conditions: [WhereExpression] = []
    /// The strings of the conditions that may have been meant as numbers, such as `1M`.
    var numberLikeWords: [String] = []
    var orders: [OrderArgument] = []
    var limit: Limit?
    var startAt: [Value]?
    var startAfter: [Value]?
    var endAt: [Value]?
    var endBefore: [Value]?

    /// The query of the database API, which validates it when it runs.
    func query(_ values: UserValues) throws(ToolError) -> Query {
        let firestore = values.firestore
        var query =
            isGroup ? firestore.collectionGroup(collection) : firestore.collection(collection)
        for condition in conditions { query = query.whereFilter(try condition.filter(values)) }
        for order in orders {
            query = query.order(
                by: Larder.FieldPath(order.field.segments), descending: order.isDescending)
        }
        switch limit {
        case .first(let count): query = query.limit(to: count)
        case .last(let count): query = query.limit(toLast: count)
        case nil: break
        }
        if let startAt { query = query.start(at: try values.values(startAt)) }
        if let startAfter { query = query.start(after: try values.values(startAfter)) }
        if let endAt { query = query.end(at: try values.values(endAt)) }
        if let endBefore { query = query.end(before: try values.values(endBefore)) }
        return query
    }
}
