public import Foundation
import LarderModel
public import Logging

/// Which database is connected to, where it is and as whom.
public struct CloudFirestoreConfiguration: Sendable {
    /// How what travels is protected.
    public enum Security: Hashable, Sendable {
        /// By TLS, to a host that the system's certificates vouch for.
        case tls
        /// By TLS, to a host that the certificates in these PEM files vouch for.
        case tlsTrusting(certificateFiles: [String])
        /// Not at all: for a host on this machine, or on a network that protects by itself.
        case plainText
    }

    /// The host of Cloud Firestore.
    public static let cloudHost = "firestore.googleapis.com"

    static let cloudPort = 443

    static let emulatorVariable = "FIRESTORE_EMULATOR_HOST"

    /// The project's id; the same as that of the databases that use the connection.
    public var project: String

    /// The database's name in the project; the same as that of the databases that use the
    /// connection.
    public var database: String

    /// The host's name or address; an IPv6 address without brackets.
    public var host = Self.cloudHost

    /// The host's port.
    public var port = Self.cloudPort

    /// How what travels is protected.
    public var security = Security.tls

    /// As whom the host is asked.
    public var credentials: CloudCredentials

    /// How long a token and a connection may take to come about before what waits for them fails
    /// with `unavailable`.
    public var connectTimeout: Duration = .seconds(20)

    /// How long a connection may be silent before the host is asked for a sign of life; nil for
    /// ever.
    ///
    /// It is a little longer than ``keepaliveTimeout`` at least.
    public var keepaliveInterval: Duration? = .seconds(30)

    /// How long such a sign of life may take before the connection counts as lost.
    public var keepaliveTimeout: Duration = .seconds(20)

    /// How long a connection that nobody uses stays open.
    public var idleTimeout: Duration = .seconds(30 * 60)

    /// How long a read, a commit or an aggregation may take, once there is a connection, before it
    /// fails with `deadlineExceeded`.
    public var callTimeout: Duration = .seconds(60)

    /// How many bytes one message of the host may have; a longer one ends its stream or call.
    public var maxMessageBytes = 17 * 1024 * 1024

    /// Where the connection logs; secrets are never in it.
    public var logger = Logger(label: "larder.remote")

    /// The connection to a database of Cloud Firestore, or of an emulator where the environment
    /// names one.
    ///
    /// With `FIRESTORE_EMULATOR_HOST` in the environment, such as `localhost:8080`, this is as
    /// after ``useEmulator(withHost:port:)``.
    ///
    /// - Parameters:
    ///   - project: the project's id.
    ///   - database: the database's name.
    ///   - environment: where the name of an emulator and of a key file are looked up.
    public init(
        project: String, database: String = "(default)",
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.project = project
        self.database = database
        credentials = .applicationDefault(environment: environment)
        if let emulator = environment[Self.emulatorVariable], !emulator.isEmpty {
            let address = HostAddress(emulator)
            useEmulator(withHost: address.host, port: address.port)
        }
    }

    /// Connects to an emulator, or to a local server, as its owner and in plain text.
    public mutating func useEmulator(withHost host: String, port: Int) {
        self.host = host
        self.port = port
        security = .plainText
        credentials = .emulatorOwner
    }

    var databaseID: DatabaseID { DatabaseID(project: project, database: database) }

    /// Throws for what cannot be connected to.
    func validate() throws(LarderError) {
        // The names travel in headers, and a slash would make another name of them.
        for (what, name) in [("project", project), ("database", database)] {
            guard (1...256).contains(name.utf8.count),
                name.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "/") })
            else {
                throw .invalidArgument("'\(name.prefix(256))' is no name of a \(what)")
            }
        }
        guard !host.isEmpty, (1...65_535).contains(port) else {
            throw .invalidArgument("'\(host)' with the port \(port) is no address of a host")
        }
        guard maxMessageBytes > 0, callTimeout > .zero, connectTimeout > .zero,
            keepaliveTimeout > .zero,
            idleTimeout > .zero, keepaliveInterval.map({ $0 > .zero }) ?? true
        else { throw .invalidArgument("a limit or a time of the connection is not above 0") }
    }
}

// MARK: - Addresses

/// A host and a port in one text: `localhost:8080`, `127.0.0.1:8080` or `[::1]:8080`.
struct HostAddress: Hashable {
    /// The host, an IPv6 address without brackets.
    let host: String
    /// The port; 0 where the text has none.
    let port: Int

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    init(_ text: String) {
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else {
            (host, self.port) = (Self.unbracketed(text[...]), 0)
            return
        }
        host = Self.unbracketed(text[..<colon])
        self.port = Int(port)
    }

    private static func unbracketed(_ name: Substring) -> String {
        let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
        return String(isBracketed ? name.dropFirst().dropLast() : name)
    }
}
