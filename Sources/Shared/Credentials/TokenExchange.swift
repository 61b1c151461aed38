package import Foundation
import LarderCore

/// An HTTP request for a token.
///
/// Contains secrets, which its description omits.
package struct TokenRequest: Sendable {
    /// The address, with the scheme `http` or `https`.
    package var url: String
    /// The header fields besides `Host` and `Content-Length`.
    package var headers: [String: String]
    /// The body; nil for a `GET`, otherwise the request is a `POST`.
    package var body: Data?

    package init(url: String, headers: [String: String] = [:], body: Data? = nil) {
        self.url = url
        self.headers = headers
        self.body = body
    }

    /// A request with the fields of a form.
    init(url: String, headers: [String: String] = [:], form: [(name: String, value: String)]) {
        let text = form.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }
            .joined(separator: "&")
        self.init(url: url, headers: headers, body: Data(text.utf8))
        self.headers["Content-Type"] = "application/x-www-form-urlencoded"
    }

    private static func encoded(_ text: String) -> String {
        let safe = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
        return text.addingPercentEncoding(withAllowedCharacters: safe) ?? ""
    }
}

extension TokenRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the address without its parameters.
    package var description: String {
        "\(body == nil ? "GET" : "POST") \(url.prefix { $0 != "?" })"
    }

    /// Empty, so that dumps do not show secrets.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A response to a request for a token.
package struct TokenResponse: Sendable {
    /// The status code.
    package var status: Int
    /// The body; may be a secret.
    package var body: Data

    package init(status: Int, body: Data) {
        self.status = status
        self.body = body
    }
}

/// What providers of tokens need from outside.
package struct TokenEnvironment: Sendable {
    /// Sends a request and returns the response, whatever its status.
    package var send: @Sendable (TokenRequest) async throws -> TokenResponse
    /// The contents of a file; nil if it cannot be read.
    ///
    /// Blocks on disk I/O.
    package var readFile: @Sendable (String) -> Data?
    /// The wall clock.
    package var now: @Sendable () -> Date
    /// The domain of errors.
    package var errorDomain: String

    package init(
        errorDomain: String,
        send: @escaping @Sendable (TokenRequest) async throws -> TokenResponse,
        readFile: @escaping @Sendable (String) -> Data? = {
            FileManager.default.contents(atPath: $0)
        },
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.errorDomain = errorDomain
        self.send = send
        self.readFile = readFile
        self.now = now
    }

    /// The body of a successful response.
    ///
    /// - Throws: errors of the network; `unauthenticated` for another status, with the name of
    ///   OAuth's error and without the body, which may be a secret.
    func body(of request: TokenRequest) async throws -> Data {
        let response = try await send(request)
        guard (200..<300).contains(response.status) else {
            struct Failure: Decodable { var error: String }
            let reason = (try? JSONDecoder().decode(Failure.self, from: response.body))?.error
            throw error(
                .unauthenticated,
                "\(request) answered \(response.status)" + (reason.map { ": \($0)" } ?? ""))
        }
        return response.body
    }

    /// The token in OAuth's response to a request.
    ///
    /// - Throws: as ``body(of:)``; `unauthenticated` for a response without a token.
    func token(of request: TokenRequest) async throws -> AccessToken {
        struct Answer: Decodable {
            var access_token: String
            var expires_in: Double?
        }
        let body = try await body(of: request)
        guard let answer = try? JSONDecoder().decode(Answer.self, from: body)
        else { throw error(.unauthenticated, "\(request) answered without an access token") }
        return AccessToken(
            answer.access_token, lifetime: answer.expires_in.map { .seconds($0) })
    }

    func error(_ kind: LarderError.Code, _ message: String) -> LarderError {
        LarderError(kind, message, domain: errorDomain)
    }
}
