import Foundation
import LarderCore
import LarderRealtimeModel

/// The address of a database: what its URL says.
struct DatabaseLocation: Hashable, Sendable {
    /// The server's host in lower case, with a port if the URL has one.
    var host: String
    /// The name of the database on the server.
    var namespace: String
    /// True if connections are encrypted.
    var isEncrypted: Bool

    /// The default database of a project.
    init(project: String) {
        namespace = project + "-default-rtdb"
        host = namespace + ".firebaseio.com"
        isEncrypted = true
    }

    /// The database that a URL without a path names.
    ///
    /// - Throws: `invalidArgument` for a URL without a host or with a path.
    init(url: String) throws(LarderError) {
        let (location, path) = try Self.parse(url)
        guard TreePath(path).isEmpty else {
            throw .invalidArgument("the URL '\(url)' of a database has a path")
        }
        self = location
    }

    /// The database that a URL names, and the path within it, which is not validated.
    ///
    /// The namespace is the first label of a host with three labels, otherwise the parameter `ns`,
    /// otherwise the first label. Without a port connections are encrypted, with one only if the
    /// scheme is `https` or `wss`.
    ///
    /// - Throws: `invalidArgument` for a URL without a host.
    static func parse(_ url: String) throws(LarderError) -> (location: Self, path: String) {
        var rest = Substring(url)
        var scheme = "http"
        if let separator = url.range(of: "://") {
            scheme = url[..<separator.lowerBound].lowercased()
            rest = url[separator.upperBound...]
        }
        let (beforeQuery, query) = rest.split(at: "?")
        let (host, path) = beforeQuery.split(at: "/")
        guard !host.isEmpty, host.first != "." else {
            throw .invalidArgument("the URL '\(url)' names no host")
        }
        let (name, port) = nameAndPort(of: host)
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        var namespace = String(labels.first ?? "")
        if labels.count != 3, let named = parameter("ns", in: query) { namespace = named }
        guard !namespace.isEmpty else {
            throw .invalidArgument("the URL '\(url)' names no database")
        }
        let location = Self(
            host: host.lowercased(), namespace: namespace,
            isEncrypted: port.isEmpty || scheme == "https" || scheme == "wss")
        return (location, decoded(path))
    }

    private init(host: String, namespace: String, isEncrypted: Bool) {
        self.host = host
        self.namespace = namespace
        self.isEncrypted = isEncrypted
    }

    /// The same database on an emulator or a local server.
    func onEmulator(host: String, port: Int) -> Self {
        let name = host.contains(":") ? "[\(host)]" : host
        return Self(host: "\(name):\(port)", namespace: namespace, isEncrypted: false)
    }

    /// A host and its port, which is empty if there is none; a host with colons is in brackets.
    private static func nameAndPort(of host: Substring) -> (name: Substring, port: Substring) {
        let host = host.lowercased()[...]
        guard host.first == "[" else { return host.split(at: ":") }
        let (name, port) = host.split(at: "]")
        return (name.dropFirst(), port.dropFirst())
    }

    /// True if the host is not one of Firebase's, so that it does not tell databases apart.
    var isCustomHost: Bool {
        !host.hasSuffix(".firebaseio.com") && !host.hasSuffix(".firebasedatabase.app")
    }

    private static func parameter(_ name: String, in query: Substring) -> String? {
        for pair in query.split(separator: "&") {
            let (key, value) = pair.split(at: "=")
            if key == name, !value.isEmpty { return decoded(value) }
        }
        return nil
    }

    /// Text with `+` for a space and percent encoding; as it is where the encoding is broken.
    private static func decoded(_ text: Substring) -> String {
        PercentText.decoded(text, isForm: true) ?? String(text.replacing("+", with: " "))
    }

    /// The URL of a path.
    func url(of path: TreePath) -> String {
        let scheme = isEncrypted ? "https" : "http"
        let isNamedByHost = host.hasPrefix(namespace + ".")
        let query = isNamedByHost ? "" : "?ns=\(Self.encoded(namespace))"
        let components = path.map { "/" + Self.encoded($0.text) }.joined()
        return "\(scheme)://\(host)\(components)\(query)"
    }

    private static func encoded(_ text: String) -> String {
        let safe = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~")
        return text.addingPercentEncoding(withAllowedCharacters: safe) ?? text
    }
}

extension Substring {
    /// The text before and after the first occurrence of a character; all of it and nothing
    /// without one.
    fileprivate func split(at separator: Character) -> (Substring, Substring) {
        guard let index = firstIndex(of: separator) else { return (self, "") }
        return (self[..<index], self[self.index(after: index)...])
    }
}
