import Foundation
import LarderModel
import NIOCore

/// Which requests may come from web pages: none but those of the server itself, or of hosts that
/// are configured.
///
/// A page that a browser on this machine has loaded can send requests to the server. Two checks
/// keep them out:
///
/// - `Host` names this machine or a configured host. A page whose name an attacker's DNS lets
///   point here ("DNS rebinding") is of the same origin as the server in its browser's eyes, and
///   only its name tells it. With TLS the certificate has that part.
/// - `Origin` and `Sec-Fetch-Site`, which browsers add, do not tell of another site.
///
/// Calls of gRPC are checked only where one of these two headers says that a browser makes them:
/// browsers cannot speak HTTP/2 without TLS, and other clients may reach the server under any name.
struct WebAccess: Sendable {
    /// What a request says of where it comes from and goes to.
    struct Request: Sendable {
        /// Each header `Host`, or the pseudo-header `:authority`.
        var hosts: [String] = []
        var origin: String?
        /// The header `Sec-Fetch-Site`.
        var site: String?

        /// Whether a browser has made it.
        var isOfBrowser: Bool { origin != nil || site != nil }
    }

    /// The names that were configured, with the one of the machine and of where it listens.
    private let names: Set<String>
    private let allowed: Set<String>
    private let isLoopback: Bool
    private let hasTLS: Bool

    /// - Parameter machine: the name of the machine.
    init(_ configuration: ServerConfiguration, machine: String = WebAccess.machine()) {
        allowed = Set(configuration.allowedHosts.map(Self.normal))
        names = allowed.union([Self.normal(configuration.host), Self.normal(machine)])
        isLoopback = ServerConfiguration.isLoopback(configuration.host)
        hasTLS = configuration.tls != nil
    }

    /// What the system calls this machine; empty where it does not say.
    static func machine() -> String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Why a request is refused; nil where it is not.
    func refusal(of request: Request) -> String? {
        guard request.hosts.count <= 1 else { return "a request has one header Host" }
        if let host = request.hosts.first, !admits(host: host) {
            return "'\(host.prefix(200))' is no name of this server: larderd --allow-host adds one"
        }
        if let origin = request.origin {
            guard admits(origin: origin, host: request.hosts.first) else {
                return "requests of web pages at '\(origin.prefix(200))' are not served"
            }
        } else if let site = request.site, site != "same-origin", site != "none" {
            return "requests of other web pages are not served"
        }
        return nil
    }

    private func admits(host: String) -> Bool {
        if hasTLS { return true }
        guard let name = Self.split(host)?.name else { return false }
        if name == "localhost" || names.contains(name) { return true }
        // A name can be made to point anywhere; an address cannot.
        return isLoopback
            ? ServerConfiguration.isLoopback(name)
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

    /// The name and the port of an authority; nil where it is none.
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

    /// A name as names are compared: in small letters, without the root's dot.
    private static func normal(_ name: String) -> String {
        let name = name.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}
