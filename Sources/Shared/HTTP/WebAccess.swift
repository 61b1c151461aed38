import Foundation
import NIOCore
import Synchronization

/// Restricts requests of web pages to pages of the server itself and of configured hosts.
///
/// Any page that a browser on this machine has loaded can send requests to the server. Two checks
/// keep them out:
///
/// - `Host` must name this machine or a configured host. To its browser a page whose name an
///   attacker's DNS resolves to this machine ("DNS rebinding") has the same origin as the server;
///   only the name distinguishes it. With TLS the certificate does that check.
/// - `Origin` and `Sec-Fetch-Site`, which browsers add, must not name another site.
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
    private let isLoopback: Bool
    private let hasTLS: Bool

    /// - Parameters:
    ///   - host: the listening address.
    ///   - allowedHosts: further names of the server.
    ///   - machine: the name of the machine.
    package init(
        host: String, allowedHosts: [String], hasTLS: Bool, machine: String = WebAccess.machine()
    ) {
        allowed = Set(allowedHosts.map(Self.normal))
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
    package func refusal(of request: Request) -> String? {
        guard request.hosts.count <= 1 else { return "the request has several Host headers" }
        if let host = request.hosts.first, !admits(host: host) {
            return "'\(host.prefix(200))' is not a name of this server: "
                + "add it with larderd --allow-host"
        }
        if let origin = request.origin {
            guard admits(origin: origin, host: request.hosts.first) else {
                return "requests from web pages of '\(origin.prefix(200))' are not allowed"
            }
        } else if let site = request.site, site != "same-origin", site != "none" {
            return "requests from other web sites are not allowed"
        }
        return nil
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
        guard let end = origin.range(of: "://"),
            let (name, port) = Self.split(String(origin[end.upperBound...]))
        else { return false }
        if allowed.contains(name) { return true }
        let scheme = origin[..<end.lowerBound].lowercased()
        guard scheme == (hasTLS ? "https" : "http"), let own = host.flatMap(Self.split) else {
            return false
        }
        let usual = hasTLS ? 443 : 80
        return name == own.name && (port ?? usual) == (own.port ?? usual)
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
