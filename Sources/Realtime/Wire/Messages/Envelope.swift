import LarderCore
import LarderRealtimeModel

/// The outer object of a message: `{"t":"d","d":{…}}` with data, or `"c"` for control of the
/// connection.
enum Envelope {
    /// Requests, responses and pushes.
    case data(JSONValue)
    /// A message about the connection itself: its type, and its content, null if it has none.
    case control(String, JSONValue)

    /// How deep the JSON of a message may be nested: the levels of a path, and what is around.
    static let maximumDepth = 100

    /// Reads a message.
    ///
    /// - Throws: `invalidArgument` if the text is no JSON or not such an object.
    init(_ text: [UInt8]) throws(LarderError) {
        let message: JSONValue
        do throws(JSONError) {
            message = try JSONValue(parsing: text, maximumDepth: Self.maximumDepth)
        } catch {
            throw .invalidMessage(error)
        }
        try self.init(message)
    }

    /// The message of a text's JSON.
    ///
    /// - Throws: `invalidArgument` if that is no such object.
    init(_ message: JSONValue) throws(LarderError) {
        let content = message["d"] ?? .null
        guard case .object = content else { throw .invalidMessage("'d' is not an object") }
        switch try message.text("t") {
        case "d": self = .data(content)
        case "c": self = .control(try content.text("t"), content["d"] ?? .null)
        default: throw .invalidMessage("'t' is neither 'c' nor 'd'")
        }
    }

    /// The message's text.
    var text: [UInt8] {
        let (type, content): (String, JSONValue) =
            switch self {
            case .data(let content): ("d", content)
            case .control(let type, let content):
                ("c", .object([JSONMember("t", .string(type)), JSONMember("d", content)]))
            }
        var bytes: [UInt8] = []
        JSONWriter.append(
            .object([JSONMember("t", .string(type)), JSONMember("d", content)]), to: &bytes)
        return bytes
    }
}
