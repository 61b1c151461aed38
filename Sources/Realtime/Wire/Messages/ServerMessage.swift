package import LarderCore
import LarderRealtimeModel
package import LarderRealtimeRemote

/// A server's message.
package enum ServerMessage: Equatable, Sendable {
    /// The first message of a connection.
    case hello(ServerHello)
    /// The client is to connect to another host.
    case reset(host: String)
    /// The client is not to connect again.
    case shutdown(reason: String)
    /// Text for the log.
    case notice(String)
    /// The answer to a ping.
    case pong
    /// The answer to a request.
    case response(ResponseMessage)
    /// A message that answers no request.
    case push(RealtimePush)
    /// The server refuses the client's messages as a whole.
    case failure(String)
    /// A message that this version does not know, which is to be ignored; its kind.
    case unknown(String)

    /// Reads a message.
    ///
    /// - Throws: `invalidArgument` if it is none of the protocol.
    package init(_ text: [UInt8]) throws(LarderError) {
        self = try text.withUnsafeBufferPointer { (bytes) throws(LarderError) in
            let text = try ServerMessageText(UnsafeRawBufferPointer(bytes))
            switch try Envelope(text.message) {
            case .control(let type, let content):
                return try ServerMessage(control: type, content)
            case .data(let content): return try ServerMessage(data: content, of: text)
            }
        }
    }

    private init(control type: String, _ content: JSONValue) throws(LarderError) {
        switch type {
        case "h":
            self = .hello(
                ServerHello(
                    serverTimeMilliseconds: try content.number("ts"), host: try content.text("h"),
                    sessionID: try content.text("s"), namesID: ServerHello.namesID(content)))
        case "r":
            guard case .string(let host) = content else {
                throw .invalidMessage("the host of a reset is not a string")
            }
            self = .reset(host: host)
        case "s": self = .shutdown(reason: Self.words(content))
        case "e": self = .notice(Self.words(content))
        case "o": self = .pong
        default: self = .unknown(type)
        }
    }

    private init(data content: JSONValue, of text: ServerMessageText) throws(LarderError) {
        let body = content["b"] ?? .null
        if content["r"] != nil {
            self = .response(
                ResponseMessage(
                    number: Int(clamping: try content.number("r")),
                    status: ResponseStatus(rawValue: try body.text("s")), data: try text.json()))
        } else if let error = content["error"] {
            self = .failure(Self.words(error))
        } else {
            let action = try content.text("a")
            let push = try RealtimePush(action: action, body, of: text)
            self = push.map { .push($0) } ?? .unknown(action)
        }
    }

    /// Text for people, whatever JSON it came as.
    static func words(_ json: JSONValue) -> String {
        if case .string(let text) = json { return text }
        var bytes: [UInt8] = []
        JSONWriter.append(json, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The message's text; of an unknown one that of a control message without content.
    package var text: [UInt8] {
        switch self {
        case .hello(let hello): Envelope.control("h", hello.json).text
        case .reset(let host): Envelope.control("r", .string(host)).text
        case .shutdown(let reason): Envelope.control("s", .string(reason)).text
        case .notice(let text): Envelope.control("e", .string(text)).text
        case .pong: Envelope.control("o", .null).text
        case .response(let response): response.text
        case .push(let push): push.text
        case .failure(let text): Envelope.data(.object([JSONMember("error", .string(text))])).text
        case .unknown(let type): Envelope.control(type, .null).text
        }
    }
}

extension ServerHello {
    /// The version of the protocol.
    private static let version = "5"

    fileprivate var json: JSONValue {
        var members = [
            JSONMember("ts", .integer(serverTimeMilliseconds)),
            JSONMember("v", .string(Self.version)), JSONMember("h", .string(host)),
            JSONMember("s", .string(sessionID)),
        ]
        members.add("once", namesID.map { .string($0) })
        return .object(members)
    }

    /// What only servers of ours send: anything else in its place is none of it.
    fileprivate static func namesID(_ content: JSONValue) -> String? {
        if case .string(let id)? = content["once"] { id } else { nil }
    }
}

// MARK: - Responses

/// An answer as messages have it: what its data means depends on the request.
package struct ResponseMessage: Equatable, Sendable {
    private enum Content: Sendable {
        case json(JSONValue)
        /// Nodes can be large: no tree of the JSON is made of them.
        case node(Node)
    }

    package var number: Int
    package var status: ResponseStatus
    private let content: Content

    package init(number: Int, status: ResponseStatus, data: JSONValue) {
        self.number = number
        self.status = status
        content = .json(data)
    }

    /// The content of a location, the reason for the status, or empty text.
    package var data: JSONValue {
        switch content {
        case .json(let json): json
        case .node(let node): node.exportedJSON
        }
    }

    package static func == (left: ResponseMessage, right: ResponseMessage) -> Bool {
        left.number == right.number && left.status == right.status && left.data == right.data
    }

    /// The message of an answer.
    package init(number: Int, _ response: RealtimeResponse) {
        self.number = number
        status = response.status
        content =
            switch response.payload {
            case .none: .json(.string(response.reason ?? ""))
            case .node(let node): .node(node)
            case .json(let json): .json(json)
            }
    }

    /// The answer.
    ///
    /// - Parameter isContent: true if the request asked for the content of a location.
    /// - Throws: `invalidArgument` if that content is invalid.
    package func response(isContent: Bool) throws(LarderError) -> RealtimeResponse {
        if status == .ok && isContent {
            return RealtimeResponse(status, payload: .node(try Node(exported: data)))
        }
        switch data {
        case .null, .string(""), .object([]): return RealtimeResponse(status)
        case .string(let text) where status != .ok:
            return RealtimeResponse(status, reason: text)
        default: return RealtimeResponse(status, payload: .json(data))
        }
    }

    fileprivate var text: [UInt8] {
        var text: [UInt8] = []
        JSONWriter.append(raw: #"{"t":"d","d":{"r":"#, to: &text)
        JSONWriter.append(Int64(number), to: &text)
        JSONWriter.append(raw: #","b":{"s":"#, to: &text)
        JSONWriter.append(status.rawValue, to: &text)
        JSONWriter.append(raw: #","d":"#, to: &text)
        switch content {
        case .json(let json): JSONWriter.append(json, to: &text)
        case .node(let node): node.appendExportedText(to: &text)
        }
        JSONWriter.append(raw: "}}}", to: &text)
        return text
    }
}
