import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote

extension RealtimePush {
    /// The content of the message.
    var json: JSONValue {
        var members: [JSONMember] = []
        let action: String
        switch self {
        case .overwrite(let path, let node, let tag):
            action = "d"
            members = Self.members(path, node.exportedJSON, tag)
        case .merge(let path, let values, let tag):
            action = "m"
            members = Self.members(path, values.json, tag)
        case .rangeMerge(let path, let merges, let tag):
            action = "rm"
            members = Self.members(path, .array(merges.map(\.json)), tag)
        case .listenRevoked(let path, let parameters):
            action = "c"
            members.add("p", .string(path.text))
            members.add("q", parameters?.json)
        case .authenticationRevoked(let status, let reason):
            action = "ac"
            members.add("s", .string(status.rawValue))
            members.add("d", .string(reason))
        case .securityDebug(let text):
            action = "sd"
            members.add("msg", .string(text))
        }
        return .object([JSONMember("a", .string(action)), JSONMember("b", .object(members))])
    }

    private static func members(
        _ path: TreePath, _ data: JSONValue, _ tag: Int?
    ) -> [JSONMember] {
        var members = [JSONMember("p", .string(path.text)), JSONMember("d", data)]
        members.add("t", tag)
        return members
    }

    /// The push of an action; nil for an unknown one.
    ///
    /// - Throws: `invalidArgument` for an invalid body.
    init?(action: String, _ body: JSONValue) throws(LarderError) {
        switch action {
        case "d":
            self = .overwrite(
                try body.path("p"), try body.node("d"), tag: try body.optionalNumber("t"))
        case "m":
            self = .merge(
                try body.path("p"), try body.pathValues("d"), tag: try body.optionalNumber("t"))
        case "rm":
            var merges: [RangeMerge] = []
            for element in try body.elements("d") { merges.append(try RangeMerge(json: element)) }
            self = .rangeMerge(try body.path("p"), merges, tag: try body.optionalNumber("t"))
        case "c": self = .listenRevoked(try body.path("p"), try body.queryParameters())
        case "ac":
            self = .authenticationRevoked(
                ResponseStatus(rawValue: try body.text("s")),
                reason: try body.optionalText("d") ?? "")
        case "sd": self = .securityDebug(ServerMessage.words(body["msg"] ?? .null))
        default: return nil
        }
    }
}

extension RangeMerge {
    fileprivate var json: JSONValue {
        var members: [JSONMember] = []
        members.add("s", start.map { .string($0.text) })
        members.add("e", end.map { .string($0.text) })
        members.add("m", content.exportedJSON)
        return .object(members)
    }

    fileprivate init(json: JSONValue) throws(LarderError) {
        guard case .object = json else { throw .invalidMessage("a range is not an object") }
        self.init(
            after: try json.optionalPath("s"), through: try json.optionalPath("e"),
            try json.node("m"))
    }
}
