package import LarderCore
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote

/// A request of the REST interface, whatever transport it came by.
package struct RESTRequest: Sendable {
    /// The method, in uppercase.
    package var method: String
    /// The path, with its percent escapes.
    package var path: String
    /// The parameters of the query, decoded.
    package var parameters: [(name: String, value: String)]
    /// The header fields.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// The body instead, if it is large.
    package var bodyFile: TemporaryFile?

    /// A request.
    ///
    /// - Parameter target: the path, and the query after a question mark.
    /// - Throws: `invalidArgument` for a query that is not UTF-8.
    package init(
        _ method: String, _ target: String, headers: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) throws(LarderError) {
        self.method = method
        self.headers = headers
        self.body = body
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = String(parts[0])
        parameters = []
        for part in parts.count > 1 ? parts[1].split(separator: "&") : [] {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(pair[0], isForm: true),
                let value = pair.count > 1 ? Self.decoded(pair[1], isForm: true) : ""
            else {
                throw LarderError(realtime: .invalidArgument, "the query of the URL is not UTF-8")
            }
            parameters.append((name, value))
        }
    }

    /// The text of a part of the URL, in which malformed escapes stand for themselves; nil if it is
    /// not UTF-8.
    static func decoded(_ text: Substring, isForm: Bool = false) -> String? {
        PercentText.decoded(text, isForm: isForm, keepsMalformedEscapes: true)
    }

    /// The size of the body in bytes.
    var bodyBytes: Int { bodyFile?.count ?? body.count }

    /// Reads the text of the body.
    ///
    /// - Parameter read: is called with the text, and with what takes note of the offsets that
    ///   reading does not return to.
    func readBody<R>(
        _ read: (UnsafeRawBufferPointer, @escaping TextProgress) throws(NodeTextError) -> R
    ) throws(RESTError) -> R {
        let result: Result<R, NodeTextError>
        if let bodyFile {
            do throws(LarderError) {
                result = try bodyFile.readNodes(read)
            } catch {
                throw RESTError(503, error.message)
            }
        } else {
            result = body.withUnsafeBytes { text in
                Result { () throws(NodeTextError) in try read(text) { _ in } }
            }
        }
        do throws(NodeTextError) {
            return try result.get()
        } catch {
            switch error {
            case .text: throw .invalidData
            case .data(let error): throw .invalid("Invalid data; \(error.message)")
            case .stopped(let error): throw RESTError(503, error.message)
            }
        }
    }

    /// The database that the request is for.
    package var namespace: String {
        RequestedNamespace.name(parameter: parameter("ns"), host: header("host") ?? "")
            ?? RealtimeBackend.defaultNamespace
    }

    /// The last parameter of a name; nil for none.
    package func parameter(_ name: String) -> String? { parameters.last { $0.name == name }?.value }

    /// The first header field of a name in lowercase; nil for none.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name }?.value
    }
}
