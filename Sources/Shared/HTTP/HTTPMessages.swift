package import LarderCore

/// A request of HTTP/1.1 or HTTP/2 with its whole body.
package struct HTTPRequest: Sendable {
    package typealias Field = (name: String, value: String)

    package var method: String
    /// The path and the query.
    package var target: String
    /// The header fields, with names in lower case; `host` is also HTTP/2's `:authority`.
    package var fields: [Field]
    package var body: [UInt8]
    /// The body instead, if it is too large for memory.
    package var bodyFile: BodyFile?

    package init(method: String, target: String, fields: [Field] = [], body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.fields = fields
        self.body = body
    }

    /// The path without the query.
    package var path: String { String(target.prefix { $0 != "?" }) }

    /// The query without its question mark; empty if there is none.
    package var query: Substring { target.drop { $0 != "?" }.dropFirst() }

    /// The first value of a field; nil if the request does not have it.
    ///
    /// - Parameter name: the name in lower case.
    package subscript(field name: String) -> String? { fields.first { $0.name == name }?.value }

    /// The origin and destination, for the checks of web pages.
    package var web: WebAccess.Request {
        WebAccess.Request(
            hosts: fields.filter { $0.name == "host" }.map(\.value), origin: self[field: "origin"],
            site: self[field: "sec-fetch-site"])
    }
}

/// A response without its body.
package struct HTTPResponseHead: Sendable {
    package var status: Int
    /// The header fields, without those about the length of the body.
    package var fields: [HTTPRequest.Field]

    package init(status: Int, fields: [HTTPRequest.Field] = []) {
        self.status = status
        self.fields = fields
    }

    /// The first value of a field; nil if the response does not have it.
    package subscript(field name: String) -> String? { fields.first { $0.name == name }?.value }

    /// True for a stream of events, which lasts until either side ends it.
    package var isEventStream: Bool {
        self[field: "content-type"]?.hasPrefix("text/event-stream") ?? false
    }
}

/// A response with its whole body.
package struct HTTPResponse: Sendable {
    package static let json = "application/json; charset=UTF-8"

    package var head: HTTPResponseHead
    package var body: [UInt8]

    package init(status: Int, contentType: String = HTTPResponse.json, body: [UInt8]) {
        head = HTTPResponseHead(status: status, fields: [("content-type", contentType)])
        self.body = body
    }

    package init(status: Int, contentType: String = HTTPResponse.json, text: String) {
        self.init(status: status, contentType: contentType, body: Array(text.utf8))
    }

    package var status: Int { head.status }

    /// The body as text.
    package var text: String { String(decoding: body, as: UTF8.self) }
}

// MARK: - Serving

/// The response to one request, written by one task: the head, parts of the body, the end.
package protocol HTTPReply: Sendable {
    /// Begins the response.
    ///
    /// - Parameter bodyBytes: the length of the body; nil if it is not known yet.
    func begin(_ head: HTTPResponseHead, bodyBytes: Int?)

    /// Writes a part of the body; returns when it is sent.
    ///
    /// - Throws: `cancelled` if the client has left, or does not read.
    func write(_ bytes: [UInt8]) async throws(LarderError)

    /// Like ``write(_:)-([UInt8])``, of bytes that other clients receive as well.
    func write(_ bytes: SharedBytes) async throws(LarderError)

    /// Ends the response after the last part of the body, which is small.
    func end(_ bytes: [UInt8])
}

extension HTTPReply {
    package func write(_ bytes: SharedBytes) async throws(LarderError) {
        try await write(bytes.bytes)
    }

    /// Writes a whole response; a large one at the pace of the client.
    package func send(_ response: HTTPResponse) async {
        begin(response.head, bodyBytes: response.body.count)
        guard response.body.count > HTTPExchange.partBytes else { return end(response.body) }
        // Without a client the end has no effect.
        try? await write(response.body)
        end([])
    }
}

/// Serves one request; the task is cancelled if its client leaves.
package typealias HTTPRespond = @Sendable (HTTPRequest, any HTTPReply) async -> Void
