import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote

extension RealtimePush {
    /// The text of the message.
    var text: [UInt8] {
        guard case .overwrite(let path, let node, let tag) = self else {
            return Envelope.data(json).text
        }
        // Nodes can be large: no tree of the JSON is made of them.
        var text: [UInt8] = []
        JSONWriter.append(raw: #"{"t":"d","d":{"a":"d","b":{"p":"#, to: &text)
        JSONWriter.append(path.text, to: &text)
        JSONWriter.append(raw: #","d":"#, to: &text)
        node.appendExportedText(to: &text)
        if let tag {
            JSONWriter.append(raw: #","t":"#, to: &text)
            JSONWriter.append(Int64(tag), to: &text)
        }
        JSONWriter.append(raw: "}}}", to: &text)
        return text
    }

    /// The content of the message.
    private var json: JSONValue {
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
    /// - Parameters:
    ///   - body: the body, with null in place of its data.
    ///   - text: the message's text, which has the data.
    /// - Throws: `invalidArgument` for an invalid body.
    init?(action: String, _ body: JSONValue, of text: ServerMessageText) throws(LarderError) {
        guard action != "d" else {
            self = .overwrite(
                try body.path("p"), try text.node(), tag: try body.optionalNumber("t"))
            return
        }
        let body = try text.completed(body)
        switch action {
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
