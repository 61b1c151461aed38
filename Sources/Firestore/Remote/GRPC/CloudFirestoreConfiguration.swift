public import Foundation
import LarderModel
public import Logging

/// The address, identity and limits of a connection to a database's backend.
public struct CloudFirestoreConfiguration: Sendable {
    /// The protection of the connection.
    public enum Security: Hashable, Sendable {
        /// TLS, verified with the system's certificate authorities.
        case tls
        /// TLS, verified with the certificates in these PEM files.
        case tlsTrusting(certificateFiles: [String])
        /// None: for a backend on this machine or in a protected network.
        case plainText
    }

    /// The host of Cloud Firestore.
    public static let cloudHost = "firestore.googleapis.com"

    static let cloudPort = 443

    static let emulatorVariable = "FIRESTORE_EMULATOR_HOST"

    /// The project ID; must equal that of the databases that use the connection.
    public var project: String

    /// The database's name in the project; must equal that of the databases that use the
    /// connection.
    public var database: String

    /// The host's name or address; an IPv6 address without brackets.
    public var host = Self.cloudHost

    /// The host's port.
    public var port = Self.cloudPort

    /// The protection of the connection.
    public var security = Security.tls

    /// The identity presented to the host.
    public var credentials: CloudCredentials

    /// The time limit for obtaining a token and a connection; calls that wait longer fail with
    /// `unavailable`.
    public var connectTimeout: Duration = .seconds(20)

    /// The interval of keepalive pings; nil for none.
    ///
    /// A value below ``keepaliveTimeout`` is raised to slightly above it.
    public var keepaliveInterval: Duration? = .seconds(30)

    /// The time after which an unanswered ping closes the connection.
    public var keepaliveTimeout: Duration = .seconds(20)

    /// The time after which an unused connection is closed.
    public var idleTimeout: Duration = .seconds(30 * 60)

    /// The time limit of reads, commits and aggregations once connected; they fail with
    /// `deadlineExceeded` after it.
    public var callTimeout: Duration = .seconds(60)

    /// The maximum size of a received message; a larger one ends its stream or call.
    public var maxMessageBytes = 17 * 1024 * 1024

    /// The connection's logger; secrets are never logged.
    public var logger = Logger(label: "larder.remote")

    /// A connection to a Cloud Firestore database.
    ///
    /// If `FIRESTORE_EMULATOR_HOST` is set, to `localhost:8080` for example, the connection is to
    /// that emulator as after ``useEmulator(withHost:port:)``.
    ///
    /// - Parameters:
    ///   - project: the project ID.
    ///   - database: the database's name.
    ///   - environment: the variables that name an emulator and a key file.
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

    /// Connects in plain text, as owner, to an emulator or a local server.
    public mutating func useEmulator(withHost host: String, port: Int) {
        self.host = host
        self.port = port
        security = .plainText
        credentials = .emulatorOwner
    }

    var databaseID: DatabaseID { DatabaseID(project: project, database: database) }

    /// - Throws: `invalidArgument` for an unusable name, address or limit.
    func validate() throws(LarderError) {
        // Both names are sent in headers as parts of a path, in which a slash would separate
        // segments.
        for (what, name) in [("project", project), ("database", database)] {
            guard (1...256).contains(name.utf8.count),
                name.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "/") })
            else {
                throw .invalidArgument("'\(name.prefix(256))' is not a valid \(what) name")
            }
        }
        guard !host.isEmpty, (1...65_535).contains(port) else {
            throw .invalidArgument("'\(host)' with port \(port) is not a valid address")
        }
        guard maxMessageBytes > 0, callTimeout > .zero, connectTimeout > .zero,
            keepaliveTimeout > .zero,
            idleTimeout > .zero, keepaliveInterval.map({ $0 > .zero }) ?? true
        else { throw .invalidArgument("limits and timeouts of a connection must be positive") }
    }
}
