import LarderCore
import LarderRealtimeModel

/// The parameters of a request that select children.
enum RESTQuery {
    private static let filters = [
        "startAt", "startAfter", "endAt", "endBefore", "equalTo", "limitToFirst", "limitToLast",
    ]

    /// True if a request has any parameter that orders or selects.
    static func isQuery(_ request: RESTRequest) -> Bool {
        request.parameters.contains { $0.name == "orderBy" || filters.contains($0.name) }
    }

    /// The query of a request; nil if it has none.
    static func parameters(of request: RESTRequest) throws(RESTError) -> QueryParameters? {
        guard isQuery(request) else { return nil }
        guard let order = request.parameter("orderBy") else {
            throw .invalid("orderBy must be defined when other query parameters are defined")
        }
        do throws(LarderError) {
            return try builder(order, request).parameters
        } catch {
            throw .invalid(error.message)
        }
    }

    private static func builder(
        _ order: String, _ request: RESTRequest
    ) throws(LarderError) -> QueryBuilder {
        guard case .string(let order)? = json(order) else {
            throw invalid("orderBy must be a valid JSON encoded path")
        }
        var builder = QueryBuilder()
        switch order {
        case "$key": builder = try builder.ordered(by: .key)
        case "$value": builder = try builder.ordered(by: .value)
        case "$priority": builder = try builder.ordered(by: .priority)
        default: builder = try builder.ordered(byChild: order)
        }
        for (name, value) in request.parameters {
            switch name {
            case "startAt":
                let (value, key) = try bound(name, value)
                builder = try builder.starting(at: value, key: key)
            case "startAfter":
                let (value, key) = try bound(name, value)
                builder = try builder.starting(after: value, key: key)
            case "endAt":
                let (value, key) = try bound(name, value)
                builder = try builder.ending(at: value, key: key)
            case "endBefore":
                let (value, key) = try bound(name, value)
                builder = try builder.ending(before: value, key: key)
            case "equalTo":
                let (value, key) = try bound(name, value)
                builder = try builder.equal(to: value, key: key)
            case "limitToFirst": builder = try builder.limited(toFirst: try count(name, value))
            case "limitToLast": builder = try builder.limited(toLast: try count(name, value))
            default: break
            }
        }
        return builder
    }

    private static func invalid(_ message: String) -> LarderError {
        LarderError(realtime: .invalidArgument, message)
    }

    private static func json(_ text: String) -> JSONValue? {
        do throws(JSONError) {
            return try JSONValue(parsing: Array(text.utf8))
        } catch {
            return nil
        }
    }

    /// The value of a bound, and the key after a comma.
    private static func bound(
        _ name: String, _ text: String
    ) throws(LarderError) -> (JSONValue, String?) {
        guard case .array(let parts)? = json("[" + text + "]"), (1...2).contains(parts.count) else {
            throw invalid("\(name) must be a JSON value")
        }
        guard parts.count == 2 else { return (parts[0], nil) }
        guard case .string(let key) = parts[1] else {
            throw invalid("the key of \(name) must be a string")
        }
        return (parts[0], key)
    }

    private static func count(_ name: String, _ text: String) throws(LarderError) -> Int {
        guard let count = Int(text), count > 0 else {
            throw invalid("\(name) must be a positive integer")
        }
        return count
    }
}
