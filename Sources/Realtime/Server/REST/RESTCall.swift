import LarderCore
import LarderRealtimeModel

/// A valid request: what is to be done, and the form of its answer.
struct RESTCall: Sendable {
    enum Operation: Sendable {
        case read(QueryParameters?, isShallow: Bool)
        case stream(QueryParameters?)
        case set(Node)
        case push(Node)
        case update([PathValue])
        case remove
    }

    /// The form of a successful answer.
    enum Style: Sendable { case compact, pretty, silent }

    let operation: Operation
    let path: TreePath
    let namespace: String
    private(set) var style = Style.compact
    /// True if priorities are part of the answer.
    private(set) var hasPriorities = false
    /// True if the answer has the tag of the data.
    private(set) var returnsTag = false
    /// The hash of the data that a conditional write replaces.
    private(set) var expectedHash: String?
    /// The tag of the data that the client has.
    private(set) var knownTag: String?

    /// The largest write, in bytes.
    static let maximumBytes = 256 << 20

    /// The call of a request.
    init(_ request: RESTRequest) throws(RESTError) {
        let method = try Self.method(of: request)
        path = try Self.path(of: request)
        namespace = request.namespace
        try Self.checkSize(of: request)
        operation = try Self.operation(method, request, path)
        try readStyle(request)
        try readConditions(method, request)
        try Self.checkTimeout(request.parameter("timeout"))
    }

    // MARK: Addresses

    private static func method(of request: RESTRequest) throws(RESTError) -> String {
        var method = request.method
        if method == "POST",
            let other = request.header("x-http-method-override")
                ?? request.parameter("x-http-method-override")
        {
            method = other.uppercased()
        }
        guard ["GET", "PUT", "POST", "PATCH", "DELETE"].contains(method) else {
            throw RESTError(405, "The method \(method) is not allowed")
        }
        return method
    }

    private static func path(of request: RESTRequest) throws(RESTError) -> TreePath {
        guard request.path.hasSuffix(".json"), request.path.hasPrefix("/") else {
            throw RESTError(404, "append .json to your request URI to use the REST API")
        }
        let keys = request.path.dropLast(5).split(separator: "/").map { RESTRequest.decoded($0) }
        guard !keys.contains(nil) else { throw .invalid("Invalid path: it is not UTF-8") }
        let path = TreePath(keys.compactMap { $0 }.map { ChildKey($0) })
        do throws(LarderError) {
            try path.validate(allowsPriority: true)
        } catch {
            throw .invalid("Invalid path: \(error.message)")
        }
        return path
    }

    // MARK: Operations

    private static func operation(
        _ method: String, _ request: RESTRequest, _ path: TreePath
    ) throws(RESTError) -> Operation {
        switch method {
        case "GET":
            let parameters = try RESTQuery.parameters(of: request)
            let isShallow = request.parameter("shallow") == "true"
            if isShallow, RESTQuery.isQuery(request) {
                throw .invalid("Mixing 'shallow' and querying parameters is not supported")
            }
            let accepted = request.header("accept") ?? ""
            return accepted.contains("text/event-stream")
                ? .stream(parameters) : .read(parameters, isShallow: isShallow)
        case "DELETE": return .remove
        default: break
        }
        return try request.readBody { (text, passed) throws(NodeTextError) in
            let compressor = ChildrenCompressor()
            return switch method {
            case "PUT": .set(try Node(parsing: text, at: path, compressor, passed: passed))
            case "POST": .push(try Node(parsing: text, at: path, compressor, passed: passed))
            default:
                .update(try [PathValue](parsingUpdate: text, at: path, compressor, passed: passed))
            }
        }
    }

    // MARK: Options

    private mutating func readStyle(_ request: RESTRequest) throws(RESTError) {
        switch request.parameter("print") {
        case nil: break
        case "pretty": style = .pretty
        case "silent": style = .silent
        default: throw .invalid("print must be 'pretty' or 'silent'")
        }
        switch request.parameter("format") {
        case nil: break
        case "export": hasPriorities = true
        default: throw .invalid("format must be 'export'")
        }
    }

    private mutating func readConditions(
        _ method: String, _ request: RESTRequest
    ) throws(RESTError) {
        returnsTag = request.header("x-firebase-etag") == "true"
        if method == "GET" { knownTag = request.header("if-none-match") }
        guard let tag = request.header("if-match") else { return }
        guard method == "PUT" || method == "DELETE" else {
            throw .invalid("if-match is supported for PUT and DELETE only")
        }
        guard request.parameter("print") != "silent" else {
            throw .invalid("if-match and print=silent cannot be used together")
        }
        expectedHash = ContentTag.hash(of: tag)
        returnsTag = true
    }

    /// The longest time of a read is 15 minutes; reads of trees in memory take none.
    private static func checkTimeout(_ text: String?) throws(RESTError) {
        guard let text else { return }
        let units = [("min", 60_000), ("ms", 1), ("s", 1000)]
        for (unit, milliseconds) in units where text.hasSuffix(unit) {
            if let count = Int(text.dropLast(unit.count)), count > 0,
                count <= 900_000 / milliseconds
            {
                return
            }
            break
        }
        throw .invalid("timeout must be a number of ms, s or min, and at most 15min")
    }

    /// Refuses writes that are larger than the client wants.
    private static func checkSize(of request: RESTRequest) throws(RESTError) {
        let limit: Int
        switch request.parameter("writeSizeLimit") {
        case nil, "unlimited": limit = maximumBytes
        case "tiny": limit = 1 << 20
        case "small": limit = 10 << 20
        case "medium": limit = 30 << 20
        case "large": limit = 60 << 20
        default:
            throw .invalid("writeSizeLimit must be tiny, small, medium, large or unlimited")
        }
        guard request.bodyBytes <= limit else {
            throw .invalid("Data to write exceeds the maximum size of \(limit) bytes")
        }
    }
}

/// Tags of data: the hashes of nodes.
enum ContentTag {
    private static let empty = "null_etag"

    static func tag(of node: Node) -> String { node.isEmpty ? empty : node.hash }

    /// The hash that a tag stands for, with or without quotes.
    static func hash(of tag: String) -> String {
        let tag =
            tag.hasPrefix("\"") && tag.hasSuffix("\"") ? String(tag.dropFirst().dropLast()) : tag
        return tag == empty ? "" : tag
    }
}
