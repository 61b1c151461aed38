import Foundation
import LarderCore

/// The host and port that connections are made to.
struct ServerEndpoint: Hashable, Sendable {
    /// The host's name or address; an IPv6 address without brackets.
    let host: String
    let port: Int
    let isEncrypted: Bool

    /// The longest name of a host.
    private static let maximumHostBytes = 255

    /// The endpoint of a host with an optional port; nil for text that is none.
    init?(_ text: String, isEncrypted: Bool) {
        let address = HostAddress(text)
        host = address.host.lowercased()
        port = address.port == 0 ? Self.defaultPort(isEncrypted) : address.port
        self.isEncrypted = isEncrypted
        guard (1...Self.maximumHostBytes).contains(host.utf8.count),
            host.utf8.allSatisfy(Self.isHostByte), !host.contains(":") || text.first == "["
        else { return nil }
    }

    private static func defaultPort(_ isEncrypted: Bool) -> Int { isEncrypted ? 443 : 80 }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"):
            true
        default: false
        }
    }
}

extension ServerEndpoint: CustomStringConvertible {
    /// The host with its port unless that is the default one, as requests name it.
    var description: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == Self.defaultPort(isEncrypted) ? name : "\(name):\(port)"
    }
}

// MARK: - Requests

extension ServerEndpoint {
    /// The version of the protocol.
    private static let protocolVersion = 5

    /// The path and query of the request that opens a connection.
    static func requestTarget(namespace: String, lastSessionID: String?) -> String {
        var target = "/.ws?v=\(protocolVersion)&ns=\(encoded(namespace))"
        if let lastSessionID { target += "&ls=\(encoded(lastSessionID))" }
        return target
    }

    private static func encoded(_ text: String) -> String {
        let safe = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~.")
        return text.addingPercentEncoding(withAllowedCharacters: safe) ?? ""
    }
}
