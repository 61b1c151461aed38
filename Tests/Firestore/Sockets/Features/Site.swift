import Foundation
import Testing

/// A server that features are tried at.
enum Site: Sendable, CustomTestStringConvertible {
    /// The project's server, in this process.
    case here
    /// A server that runs already, such as Google's emulator: `localhost:8080`.
    case outside(String)

    /// The server in this process, and the one that `LARDER_REMOTE_HOST` names.
    static var all: [Site] {
        let host = ProcessInfo.processInfo.environment["LARDER_REMOTE_HOST"] ?? ""
        return host.isEmpty ? [.here] : [.here, .outside(host)]
    }

    var testDescription: String {
        switch self {
        case .here: "the server in this process"
        case .outside(let host): host
        }
    }

    /// The port of a host.
    static func port(_ host: String) -> Int {
        host.split(separator: ":").last.flatMap { Int($0) } ?? 0
    }
}
