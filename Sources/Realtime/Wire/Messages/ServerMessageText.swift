import LarderCore
import LarderRealtimeModel

/// The text of a server's message, whose data is read when the kind of the message is known.
///
///     {"t":"d","d":{"a":"d","b":{"p":"scores","d":{"anna":5,"bob":7}}}}
///                                                 '---- data ----'
///
/// Data can be large: a node is made of it without a tree of the JSON in between.
struct ServerMessageText {
    private let text: UnsafeRawBufferPointer
    /// The message, with null in place of its data.
    let message: JSONValue
    private let data: Range<Int>?

    /// Reads a text, which must stay valid as long as this value is used.
    ///
    /// - Throws: `invalidArgument` if it is no JSON; the data is not examined.
    init(_ text: UnsafeRawBufferPointer) throws(LarderError) {
        self.text = text
        var reader = JSONReader(text, maximumDepth: Envelope.maximumDepth)
        var data: Range<Int>?
        do throws(JSONError) {
            message = try Self.read(&reader, "d") { (reader) throws(JSONError) in
                try Self.read(&reader, "b") { (reader) throws(JSONError) in
                    try Self.read(&reader, "d") { (reader) throws(JSONError) in
                        let start = reader.offset
                        try reader.skipValue()
                        data = start..<reader.offset
                        return .null
                    }
                }
            }
            try reader.finish()
        } catch {
            throw .invalidMessage(error)
        }
        self.data = data
    }

    /// Reads the next value.
    ///
    /// - Parameter read: reads the value of a member, if the value is an object that has it.
    private static func read(
        _ reader: inout JSONReader, _ member: String,
        _ read: (inout JSONReader) throws(JSONError) -> JSONValue
    ) throws(JSONError) -> JSONValue {
        guard reader.peek() == UInt8(ascii: "{") else { return try JSONValue(reading: &reader) }
        let start = reader.offset
        var members: [JSONMember] = []
        try reader.readObject { (reader, name) throws(JSONError) in
            let value = name == member ? try read(&reader) : try JSONValue(reading: &reader)
            members.append(JSONMember(name, value))
        }
        if let name = members.duplicateName {
            throw JSONError(offset: start, reason: "duplicate name '\(name)'")
        }
        return .object(members)
    }

    // MARK: Data

    /// How deep data may be nested in a message.
    private static let maximumDepth = Envelope.maximumDepth - 3

    /// The data as a node in the export format; the empty one without data.
    func node() throws(LarderError) -> Node {
        guard let data else { return .empty }
        do throws(NodeTextError) {
            return try Node(
                parsingExported: UnsafeRawBufferPointer(rebasing: text[data]),
                maximumDepth: Self.maximumDepth)
        } catch {
            switch error {
            case .data(let error), .stopped(let error): throw error
            case .text(var error):
                error.offset += data.lowerBound
                throw .invalidMessage(error)
            }
        }
    }

    /// The data as JSON; null without data.
    func json() throws(LarderError) -> JSONValue {
        guard let data else { return .null }
        do throws(JSONError) {
            return try JSONValue(
                parsing: UnsafeRawBufferPointer(rebasing: text[data]),
                maximumDepth: Self.maximumDepth)
        } catch {
            var error = error
            error.offset += data.lowerBound
            throw .invalidMessage(error)
        }
    }

    /// A body of the message with the data as JSON.
    func completed(_ body: JSONValue) throws(LarderError) -> JSONValue {
        guard data != nil, case .object(var members) = body else { return body }
        for index in members.indices where members[index].name == "d" {
            members[index].value = try json()
        }
        return .object(members)
    }
}
