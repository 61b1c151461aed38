package import LarderCore
import LarderRealtimeModel
package import LarderRealtimeRemote

/// A client's message.
package enum ClientMessage: Equatable, Sendable {
    /// A request, which the server answers with its number.
    case request(RequestMessage)
    /// A control message that asks for an answer.
    case ping

    /// Reads a message.
    ///
    /// - Throws: `invalidArgument` if it is none of the protocol.
    package init(_ text: [UInt8]) throws(LarderError) {
        switch try Envelope(text) {
        case .control("p", _): self = .ping
        case .control(let type, _): throw .invalidMessage("a client's control message '\(type)'")
        case .data(let content):
            self = .request(
                RequestMessage(
                    number: Int(clamping: try content.number("r")), action: try content.text("a"),
                    body: content["b"] ?? .null))
        }
    }

    /// The message's text.
    package var text: [UInt8] {
        switch self {
        case .request(let request):
            Envelope.data(
                .object([
                    JSONMember("r", .integer(Int64(request.number))),
                    JSONMember("a", .string(request.action)), JSONMember("b", request.body),
                ])
            ).text
        case .ping: Envelope.control("p", .object([])).text
        }
    }
}

/// A request as messages have it: its body is not examined yet, so that a server can answer one
/// that is invalid.
package struct RequestMessage: Equatable, Sendable {
    package var number: Int
    /// The kind of request.
    package var action: String
    package var body: JSONValue

    package init(number: Int, action: String, body: JSONValue) {
        self.number = number
        self.action = action
        self.body = body
    }
}

// MARK: - Encoding

extension RequestMessage {
    /// The message of a request.
    package init(number: Int, _ request: RealtimeRequest) {
        let (action, members) = Self.content(of: request)
        self.init(number: number, action: action, body: .object(members))
    }

    private static func content(
        of request: RealtimeRequest
    ) -> (action: String, members: [JSONMember]) {
        let action: String
        var members: [JSONMember] = []
        switch request {
        case .authenticate(let token, let user):
            action = isWebToken(token) ? "auth" : "gauth"
            members.add("cred", .string(token))
            switch user {
            case .unauthenticated: members.add("noauth", .boolean(true))
            case .authentication(let json): members.add("authvar", json)
            case nil: break
            }
        case .unauthenticate: action = "unauth"
        case .listen(let query, let tag, let hash, let compoundHash):
            action = "q"
            members = Self.members(of: query, tag)
            members.add("h", .string(hash))
            members.add("ch", compoundHash?.json)
        case .unlisten(let query, let tag):
            action = "n"
            members = Self.members(of: query, tag)
        case .get(let query):
            action = "g"
            members.add("p", .string("\(query.path)"))
            members.add("q", query.parameters.json)
        case .put(let path, let node, let hash):
            (action, members) = ("p", Self.members(path, node.exportedJSON))
            members.add("h", hash.map { .string($0) })
        case .merge(let path, let values):
            (action, members) = ("m", Self.members(path, values.json))
        case .onDisconnectPut(let path, let node):
            (action, members) = ("o", Self.members(path, node.exportedJSON))
        case .onDisconnectMerge(let path, let values):
            (action, members) = ("om", Self.members(path, values.json))
        case .onDisconnectCancel(let path):
            (action, members) = ("oc", Self.members(path, .null))
        case .once(let token, let write):
            (action, members) = content(of: write)
            members.add("once", token.json)
        case .statistics(let counters):
            action = "s"
            let sorted = counters.sorted { $0.key < $1.key }
            members.add(
                "c", .object(sorted.map { JSONMember($0.key, .integer(Int64($0.value))) }))
        }
        return (action, members)
    }

    private static func members(of query: QuerySpec, _ tag: Int?) -> [JSONMember] {
        var members = [JSONMember("p", .string("\(query.path)"))]
        if !query.isDefault { members.add("q", query.parameters.json) }
        members.add("t", tag)
        return members
    }

    private static func members(_ path: TreePath, _ data: JSONValue) -> [JSONMember] {
        [JSONMember("p", .string("\(path)")), JSONMember("d", data)]
    }

    /// True for the JSON web token of a user; other tokens are those of administrators.
    private static func isWebToken(_ token: String) -> Bool {
        // The beginning of an object in base64, and two separators.
        token.hasPrefix("eyJ") && token.utf8.count { $0 == UInt8(ascii: ".") } == 2
    }
}

extension CompoundHash {
    fileprivate var json: JSONValue {
        .object([
            JSONMember("hs", .array(hashes.map { .string($0) })),
            JSONMember("ps", .array(posts.map { .string($0.text) })),
        ])
    }
}

// MARK: - Decoding

extension RequestMessage {
    /// True if the request authenticates the session.
    package var authenticates: Bool { action == "auth" || action == "gauth" }

    /// The request; of its data what is not valid in the tree is not refused yet.
    ///
    /// - Throws: `invalidArgument` for an invalid body; `unimplemented` for an unknown action.
    package func request() throws(LarderError) -> RealtimeRequest {
        switch action {
        case "auth", "gauth":
            return .authenticate(token: try body.text("cred"), actingAs: try actingUser())
        case "unauth": return .unauthenticate
        case "q", "l":
            let (query, tag) = try queryAndTag()
            return .listen(
                query, tag: tag, hash: try body.optionalText("h") ?? "",
                compoundHash: try body["ch"].flatMap { (json) throws(LarderError) in
                    try CompoundHash(json: json)
                })
        case "n", "u":
            let (query, tag) = try queryAndTag()
            return .unlisten(query, tag: tag)
        case "g": return .get(try queryAndTag().query)
        case "p":
            return try once(
                .put(
                    try body.path("p"), try body.requiredNode("d"), hash: try body.optionalText("h")
                ))
        case "m": return try once(.merge(try body.path("p"), try body.updateValues("d")))
        case "o": return .onDisconnectPut(try body.path("p"), try body.requiredNode("d"))
        case "om": return .onDisconnectMerge(try body.path("p"), try body.updateValues("d"))
        case "oc": return .onDisconnectCancel(try body.path("p"))
        case "s": return .statistics(try counters())
        default:
            throw LarderError(realtime: .unimplemented, "unknown action '\(action.prefix(40))'")
        }
    }

    /// The write with its token; without one as it is.
    private func once(_ write: RealtimeRequest) throws(LarderError) -> RealtimeRequest {
        guard let json = body["once"], json != .null else { return write }
        return .once(try WriteToken(json: json), write)
    }

    /// The user with whose rights the client acts; if it names two, the one without any.
    private func actingUser() throws(LarderError) -> ActingUser? {
        guard body[ActingUser.parameter] == nil else {
            throw .invalidMessage("'\(ActingUser.parameter)' is a parameter of REST; use 'authvar'")
        }
        var user: ActingUser?
        if let json = body["authvar"] {
            user = ActingUser(json: json)
            if user == nil { throw .invalidMessage("'authvar' is neither an object nor null") }
        }
        switch body["noauth"] {
        case .boolean(true): return .unauthenticated
        case .boolean(false), .null, nil: return user
        default: throw .invalidMessage("'noauth' is not a Boolean value")
        }
    }

    private func queryAndTag() throws(LarderError) -> (query: QuerySpec, tag: Int?) {
        let parameters = try body.queryParameters() ?? .default
        return (QuerySpec(try body.path("p"), parameters), try body.optionalNumber("t"))
    }

    private func counters() throws(LarderError) -> [String: Int] {
        var counters: [String: Int] = [:]
        for member in try body.members("c") {
            guard case .integer(let count) = member.value else {
                throw .invalidMessage("a counter is not a number")
            }
            counters[member.name] = Int(count)
        }
        return counters
    }
}

extension WriteToken {
    fileprivate var json: JSONValue {
        var members = [JSONMember("c", .string(client)), JSONMember("w", .string(write))]
        for (key, names) in [("a", answered), ("f", former)] where !names.isEmpty {
            members.add(key, .array(names.map { .string($0) }))
        }
        return .object(members)
    }

    fileprivate init(json: JSONValue) throws(LarderError) {
        self.init(
            client: try json.text("c"), write: try json.text("w"),
            answered: try Self.names(json, "a"), former: try Self.names(json, "f"))
        guard isValid else { throw .invalidMessage("'once' has a name that is not valid") }
    }

    private static func names(_ json: JSONValue, _ key: String) throws(LarderError) -> [String] {
        guard json[key] != nil else { return [] }
        return try json.elements(key).map { element throws(LarderError) in
            guard case .string(let name) = element else {
                throw .invalidMessage("an element of '\(key)' is not a string")
            }
            return name
        }
    }
}

extension CompoundHash {
    /// The hashes of a message; nil for null.
    fileprivate init?(json: JSONValue) throws(LarderError) {
        if json == .null { return nil }
        var (posts, hashes): ([TreePath], [String]) = ([], [])
        for post in try json.elements("ps") {
            guard case .string(let text) = post else {
                throw .invalidMessage("an element of 'ps' is not a string")
            }
            posts.append(try TreePath(wire: text))
        }
        for hash in try json.elements("hs") {
            guard case .string(let text) = hash else {
                throw .invalidMessage("an element of 'hs' is not a string")
            }
            hashes.append(text)
        }
        guard let hash = CompoundHash(posts: posts, hashes: hashes) else {
            throw .invalidMessage("'hs' does not have one element more than 'ps'")
        }
        self = hash
    }
}
