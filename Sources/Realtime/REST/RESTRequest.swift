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
    package init(
        _ method: String, _ target: String, headers: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) {
        self.method = method
        self.headers = headers
        self.body = body
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = String(parts[0])
        parameters = []
        for part in parts.count > 1 ? parts[1].split(separator: "&") : [] {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            parameters.append(
                (
                    PercentText.decoded(pair[0], isForm: true),
                    pair.count > 1 ? PercentText.decoded(pair[1], isForm: true) : ""
                ))
        }
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

/// Text with percent escapes.
enum PercentText {
    /// The text without escapes; invalid ones stay as they are.
    ///
    /// - Parameter isForm: true if a plus sign stands for a space.
    static func decoded(_ text: Substring, isForm: Bool = false) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%"), index + 2 < bytes.count,
                let high = digit(bytes[index + 1]), let low = digit(bytes[index + 2])
            {
                result.append(high << 4 | low)
                index += 3
                continue
            }
            result.append(isForm && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            index += 1
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
