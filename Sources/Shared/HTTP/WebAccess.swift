import Foundation
import NIOCore
import Synchronization

/// Restricts requests of web pages to those of the server itself, of configured hosts and origins,
/// and of this machine while no other machine can reach the server.
///
/// Any page that a browser on this machine has loaded can send requests to the server. Two checks
/// keep foreign ones out:
///
/// - `Host` must name this machine or a configured host. To its browser a page whose name an
///   attacker's DNS resolves to this machine ("DNS rebinding") has the same origin as the server;
///   only the name distinguishes it. With TLS the certificate does that check.
/// - `Origin` and `Sec-Fetch-Site`, which browsers add, must not name another site. A page of
///   `http://localhost`, whatever its port, is served by this machine and may make requests to a
///   server on loopback; beyond loopback it may be of any client's machine.
///
/// Calls of gRPC are checked only if one of these two headers shows a browser: browsers cannot
/// speak HTTP/2 without TLS, and other clients may reach the server under any name.
package struct WebAccess: Sendable {
    /// The origin and destination of a request.
    package struct Request: Sendable {
        /// All headers `Host`, or the pseudo-header `:authority`.
        package var hosts: [String]
        /// The header `Origin`.
        package var origin: String?
        /// The header `Sec-Fetch-Site`.
        package var site: String?

        package init(hosts: [String] = [], origin: String? = nil, site: String? = nil) {
            self.hosts = hosts
            self.origin = origin
            self.site = site
        }

        package var isOfBrowser: Bool { origin != nil || site != nil }
    }

    /// The configured names, the machine's name and the listening address.
    private let names: Set<String>
    private let allowed: Set<String>
    private let allowedOrigins: [OriginPattern]
    private let isLoopback: Bool
    private let hasTLS: Bool

    /// - Parameters:
    ///   - host: the listening address.
    ///   - allowedHosts: further names of the server.
    ///   - allowedOrigins: further origins of web pages.
    ///   - machine: the name of the machine.
    package init(
        host: String, allowedHosts: [String], allowedOrigins: [OriginPattern] = [], hasTLS: Bool,
        machine: String = WebAccess.machine()
    ) {
        allowed = Set(allowedHosts.map(Self.normal))
        self.allowedOrigins = allowedOrigins
        names = allowed.union([Self.normal(host), Self.normal(machine)])
        isLoopback = Self.isLoopback(host)
        self.hasTLS = hasTLS
    }

    /// The machine's name according to the system; empty if it has none.
    package static func machine() -> String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Whether an address is reachable from this machine only.
    package static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// The reason to refuse a request; nil if it is admitted.
    package func refusal(of request: Request) -> Refusal? {
        guard request.hosts.count <= 1 else {
            return Refusal(.host, "the request has several Host headers")
        }
        if let host = request.hosts.first, !admits(host: host) {
            return Refusal(
                .host,
                "'\(host.prefix(200))' is not a name of this server: "
                    + "add it with larderd --allow-host")
        }
        if let origin = request.origin {
            guard admits(origin: origin, host: request.hosts.first) else {
                return Refusal(.origin, Self.message(refusedOrigin: String(origin.prefix(200))))
            }
        } else if let site = request.site, site != "same-origin", site != "none" {
            return Refusal(
                .origin,
                "requests from other web sites are not allowed: a page of an origin that is added "
                    + "with larderd --allow-origin may make them with fetch()")
        }
        return nil
    }

    private static func message(refusedOrigin origin: String) -> String {
        guard origin != "null" else {
            return
                "requests from web pages without an origin ('null'), such as files and sandboxed "
                + "frames, are not allowed: serve the page over HTTP, and add its origin with "
                + "larderd --allow-origin unless it is of this machine"
        }
        return "requests from web pages of '\(origin)' are not allowed: "
            + "add it with larderd --allow-origin"
    }

    private func admits(host: String) -> Bool {
        if hasTLS { return true }
        guard let name = Self.split(host)?.name else { return false }
        if name == "localhost" || names.contains(name) { return true }
        // DNS can resolve a name to any address, but cannot redirect an address.
        return isLoopback
            ? Self.isLoopback(name)
            : (try? SocketAddress(ipAddress: name, port: 0)) != nil
    }

    private func admits(origin: String, host: String?) -> Bool {
        guard let (scheme, name, port) = Self.parts(ofOrigin: origin) else { return false }
        if allowed.contains(name) { return true }
        if allowedOrigins.contains(where: { $0.admits(scheme, name, port) }) { return true }
        if isLoopback, scheme == "http" || scheme == "https", Self.isLoopback(name) { return true }
        guard scheme == (hasTLS ? "https" : "http"), let own = host.flatMap(Self.split) else {
            return false
        }
        let usual = Self.usualPort(scheme)
        return name == own.name && (port ?? usual) == (own.port ?? usual)
    }

    private static func usualPort(_ scheme: String) -> Int? {
        ["http": 80, "https": 443][scheme]
    }

    /// The parts of an origin, with the scheme and the name in their forms for comparison; nil if it
    /// is malformed.
    private static func parts(ofOrigin origin: String) -> (
        scheme: String, name: String, port: Int?
    )? {
        guard let end = origin.range(of: "://"), end.lowerBound > origin.startIndex,
            let (name, port) = split(String(origin[end.upperBound...]))
        else { return nil }
        return (origin[..<end.lowerBound].lowercased(), name, port)
    }

    /// The name and the port of an authority; nil if it is malformed.
    private static func split(_ authority: String) -> (name: String, port: Int?)? {
        let name: Substring
        let rest: Substring
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            name = authority[authority.index(after: authority.startIndex)..<end]
            rest = authority[authority.index(after: end)...]
        } else {
            name = authority.prefix { $0 != ":" }
            rest = authority.dropFirst(name.count)
        }
        guard !name.isEmpty else { return nil }
        if rest.isEmpty { return (normal(String(name)), nil) }
        guard rest.first == ":", let port = UInt16(rest.dropFirst()) else { return nil }
        return (normal(String(name)), Int(port))
    }

    /// The form of a name for comparison: lower case, without the root's dot.
    private static func normal(_ name: String) -> String {
        let name = name.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}

// MARK: - Origins and refusals

extension WebAccess {
    /// The origins of pages that an operator allows: `https://app.example`,
    /// `http://app.example:3000`, or with a name of `*` and the end of a domain,
    /// `https://*.example.com`, all names below it.
    package struct OriginPattern: Sendable {
        private let scheme: String
        /// The name; with ``isDomain`` the end of names, from its dot.
        private let name: String
        private let isDomain: Bool
        private let port: Int?

        /// Nil for text that is not an origin, such as `*` alone and `null`.
        package init?(_ text: String) {
            guard let (scheme, name, port) = WebAccess.parts(ofOrigin: text),
                scheme.allSatisfy({
                    $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0))
                }),
                !name.contains(where: { "/?#@ ".contains($0) })
            else { return nil }
            isDomain = name.hasPrefix("*.")
            let rest = isDomain ? String(name.dropFirst()) : name
            // A pattern of a whole top-level domain would be one of strangers.
            guard !rest.contains("*"), !isDomain || rest.dropFirst().contains(".") else {
                return nil
            }
            (self.scheme, self.name, self.port) = (
                scheme, rest, port ?? WebAccess.usualPort(scheme)
            )
        }

        fileprivate func admits(_ scheme: String, _ name: String, _ port: Int?) -> Bool {
            scheme == self.scheme && (port ?? WebAccess.usualPort(scheme)) == self.port
                && (isDomain
                    ? name.hasSuffix(self.name) && name.count > self.name.count
                    : name == self.name)
        }
    }

    /// The reason to refuse a request.
    package struct Refusal: Sendable {
        package let kind: AccessRefusal
        package let message: String

        init(_ kind: AccessRefusal, _ message: String) {
            self.kind = kind
            self.message = message
        }
    }
}

// MARK: - Tokens

/// A secret that clients must present, which can be replaced.
package final class BearerToken: Sendable {
    private let token: Mutex<[UInt8]>

    package init?(_ token: String?) {
        guard let token, !token.isEmpty else { return nil }
        self.token = Mutex(Array(token.utf8))
    }

    /// Admits another token from now on, and the former one no longer.
    ///
    /// - Returns: false if it is the same one, or empty.
    package func replace(with token: String) -> Bool {
        let new = Array(token.utf8)
        return self.token.withLock { token in
            guard !new.isEmpty, token != new else { return false }
            token = new
            return true
        }
    }

    /// Whether a header `authorization` presents the token.
    ///
    /// The comparison takes the same time wherever the first difference is.
    package func admits(_ authorization: String?) -> Bool {
        let (scheme, token) = ("bearer ", token.withLock { $0 })
        guard let header = authorization?.utf8, header.count == scheme.utf8.count + token.count,
            String(Substring(header.prefix(scheme.utf8.count))).lowercased() == scheme
        else { return false }
        return zip(header.dropFirst(scheme.utf8.count), token)
            .reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
