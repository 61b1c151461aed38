import LarderCore

/// An answer of the REST interface.
package struct RESTResponse: Sendable, Equatable {
    /// A header field.
    package struct Header: Sendable, Equatable {
        package let name: String
        package let value: String
    }

    /// The status of HTTP.
    package var status: Int
    package var headers: [Header] = []
    package var body: [UInt8] = []
    /// The body instead, if it is large.
    package private(set) var text: NodeText?
    /// True if the request's token is refused, or what it asks to act as; false for other denials.
    package private(set) var isTokenRefused = false

    init(_ status: Int) {
        self.status = status
    }

    /// A response with JSON.
    init(_ status: Int, json: JSONValue, isPretty: Bool = false) {
        self.status = status
        add("Content-Type", "application/json; charset=utf-8")
        if isPretty {
            PrettyJSON.append(json, to: &body)
        } else {
            JSONWriter.append(json, to: &body)
        }
    }

    /// A response with a large body.
    init(_ status: Int, _ text: NodeText) {
        self.status = status
        self.text = text
        add("Content-Type", "application/json; charset=utf-8")
    }

    /// Makes the body, if it is large.
    mutating func makeBody() {
        if let text = text.take() { body = text.bytes }
    }

    /// A response with a description of what is wrong.
    init(_ error: RESTError) {
        self.init(
            error.status, json: .object([JSONMember("error", .string(error.message))]))
        isTokenRefused = error.status == 401 && error != .denied
    }

    mutating func add(_ name: String, _ value: String) {
        headers.append(Header(name: name, value: value))
    }

    /// The value of a header field; nil for none.
    package func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}

/// The reason why a request is not served.
struct RESTError: Error, Equatable {
    let status: Int
    let message: String

    init(_ status: Int, _ message: String) {
        self.status = status
        self.message = message
    }

    static func invalid(_ message: String) -> RESTError { RESTError(400, message) }

    static let denied = RESTError(401, "Permission denied")
    static let invalidData = RESTError(
        400, "Invalid data; couldn't parse JSON object, array, or value.")
}

/// JSON with line breaks.
enum PrettyJSON {
    static func append(_ value: JSONValue, to bytes: inout [UInt8], indentation: Int = 0) {
        switch value {
        case .object(let members) where !members.isEmpty:
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                appendLine(indentation + 1, to: &bytes)
                JSONWriter.append(member.name, to: &bytes)
                JSONWriter.append(raw: " : ", to: &bytes)
                append(member.value, to: &bytes, indentation: indentation + 1)
            }
            appendLine(indentation, to: &bytes)
            bytes.append(UInt8(ascii: "}"))
        case .array(let elements) where !elements.isEmpty:
            JSONWriter.append(raw: "[ ", to: &bytes)
            for (index, element) in elements.enumerated() {
                if index > 0 { JSONWriter.append(raw: ", ", to: &bytes) }
                append(element, to: &bytes, indentation: indentation)
            }
            JSONWriter.append(raw: " ]", to: &bytes)
        default: JSONWriter.append(value, to: &bytes)
        }
    }

    private static func appendLine(_ indentation: Int, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * indentation))
    }
}
