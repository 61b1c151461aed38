import LarderHTTP
import LarderModel

/// The configuration of a server.
public struct ServerConfiguration: Sendable {
    /// Where databases are kept.
    public enum Storage: Hashable, Sendable {
        /// In memory: discarded when the server ends.
        case memory
        /// In a directory of a local file system: a folder for each project, and in it one for
        /// each database.
        case directory(String)
    }

    /// What a server needs for TLS.
    public struct TLS: Hashable, Sendable {
        /// The path of a PEM file with the certificate and its intermediates.
        public var certificatePath: String
        /// The path of a PEM file with the private key.
        public var keyPath: String

        /// A certificate and its key.
        public init(certificatePath: String, keyPath: String) {
            self.certificatePath = certificatePath
            self.keyPath = keyPath
        }
    }

    /// The limits of a server.
    public struct Limits: Hashable, Sendable {
        /// Bytes of a request; Firestore allows 10 MiB of writes.
        public var requestBytes = 11 << 20
        /// Bytes of all requests that are being received or served, as they travel; at least those
        /// of one request.
        ///
        /// Further requests wait at their clients, after the first 1 MiB. Serving needs a few times the
        /// memory; responses are not included.
        public var heldRequestBytes = 256 << 20
        /// How long a request of more than 64 KiB may take until it is received completely, including
        /// waiting; then it fails with RESOURCE_EXHAUSTED.
        public var requestTime = Duration.seconds(60)
        /// Open databases.
        public var databases = 100
        /// How long a database must be unused before it may be closed to make room for another.
        ///
        /// The next use opens it again. A database in memory, or with open streams or transactions,
        /// is not closed.
        public var idleTime = Duration.seconds(600)
        /// Concurrent calls on one connection.
        public var callsPerConnection = 1_000
        /// Calls that the client of one connection may cancel in 30 seconds, as it does to end a
        /// listener; a client that exceeds it is disconnected.
        public var callsTakenBack = 10_000
        /// Open Listen and Write streams.
        public var streams = 20_000
        /// Targets of one Listen stream.
        public var targetsPerStream = 1_000
        /// Pending requests of a Write stream.
        public var writesOnTheirWay = 64
        /// Bytes of a response in progress that a client has not received; also the approximate size
        /// of a page of a list.
        public var bytesAhead = 4 << 20
        /// How long such a response waits for a client that receives nothing.
        public var patience = Duration.seconds(30)
        /// How long a connection may be silent before it is pinged.
        public var keepaliveInterval = Duration.seconds(60)
        /// How long a ping may take before the connection is closed.
        public var keepaliveTimeout = Duration.seconds(20)
        /// The least time between two pings of a client; one that pings more often is disconnected.
        ///
        /// Google's clients ping every 30 seconds.
        public var pingInterval = Duration.seconds(5)
        /// How long clients may take to disconnect when the server stops.
        public var grace = Duration.seconds(2)
        /// Threads for queries, and as many for other reads.
        public var readers = 16

        /// The limits for a developer's machine.
        public init() {}
    }

    /// The address to listen at.
    public var host: String
    /// The port to listen at; 0 for any that is free.
    public var port: Int
    /// Where databases are kept.
    public var storage: Storage
    /// The certificate; nil for plain text.
    public var tls: TLS?
    /// Bearer token that clients must present in the header `authorization`; nil for none, and
    /// never empty.
    public var token: String?
    /// Further names of this server, which HTTP/1.1 requests may have as host, and whose web pages may
    /// make requests.
    public var allowedHosts: [String] = []
    /// Whether it may be reachable from other machines without TLS and a token.
    public var allowsInsecure = false
    /// The limits.
    public var limits = Limits()

    /// A server for this machine only, in plain text.
    public init(host: String = "127.0.0.1", port: Int = 8080, storage: Storage) {
        self.host = host
        self.port = port
        self.storage = storage
    }
}

// MARK: - Validation

extension ServerConfiguration {
    /// Throws for a server that is reachable from other machines without TLS and a token.
    func checkExposure() throws(LarderError) {
        guard !WebAccess.isLoopback(host), !allowsInsecure else { return }
        var missing: [String] = []
        if tls == nil { missing.append("TLS") }
        if token?.isEmpty ?? true { missing.append("a token") }
        guard missing.isEmpty else {
            throw LarderError(
                .failedPrecondition,
                "'\(host)' is reachable from other machines, which requires TLS and a token; "
                    + "missing: \(missing.joined(separator: " and "))")
        }
    }

    /// Throws for an empty token, which would disable the check.
    func checkToken() throws(LarderError) {
        guard token?.isEmpty != true else {
            throw LarderError(.invalidArgument, "the token is empty, which would admit any client")
        }
    }

    /// The checks of requests of web pages.
    var webAccess: WebAccess {
        WebAccess(host: host, allowedHosts: allowedHosts, hasTLS: tls != nil)
    }
}

extension ServerConfiguration.Limits {
    /// The limits of one connection.
    var ofConnection: HTTP2Connection.Limits {
        HTTP2Connection.Limits(
            streams: callsPerConnection, resets: callsTakenBack,
            keepaliveInterval: keepaliveInterval, keepaliveTimeout: keepaliveTimeout,
            pingInterval: pingInterval)
    }
}
