import LarderHTTP
import LarderModel

/// How a server is run.
public struct ServerConfiguration: Sendable {
    /// Where databases are kept.
    public enum Storage: Hashable, Sendable {
        /// In memory: nothing is left when the server ends.
        case memory
        /// In a directory of a local file system: a folder for each project, and in it one for
        /// each database.
        case directory(String)
    }

    /// What a server needs for TLS.
    public struct TLS: Hashable, Sendable {
        /// The path of a PEM file with the certificate and those that vouch for it.
        public var certificatePath: String
        /// The path of a PEM file with the private key.
        public var keyPath: String

        /// A certificate and its key.
        public init(certificatePath: String, keyPath: String) {
            self.certificatePath = certificatePath
            self.keyPath = keyPath
        }
    }

    /// What a server bears.
    public struct Limits: Hashable, Sendable {
        /// Bytes of a request; Firestore allows 10 MiB of writes.
        public var requestBytes = 11 << 20
        /// Bytes of all requests that are being received or served, as they travel; at least those
        /// of one request.
        ///
        /// A request more waits at its client, up to 1 MiB of it here. Serving takes a few times the
        /// memory, and answers that clients have not taken yet are not counted.
        public var heldRequestBytes = 256 << 20
        /// How long a request of more than 64 KiB may wait and take until it has come whole; then it
        /// is refused with RESOURCE_EXHAUSTED.
        public var requestTime = Duration.seconds(60)
        /// Open databases.
        public var databases = 100
        /// How long nobody asks for a database before it may be closed to make room for another.
        ///
        /// It is opened anew when it is asked for. One in memory, or with streams or transactions
        /// open, stays.
        public var idleTime = Duration.seconds(600)
        /// Calls at a time on one connection.
        public var callsPerConnection = 1_000
        /// Calls of one connection that its client may take back in 30 seconds, as it does to end a
        /// listener.
        ///
        /// One that takes back more makes calls for nothing, and loses its connection.
        public var callsTakenBack = 10_000
        /// Open Listen and Write streams.
        public var streams = 20_000
        /// Targets of one Listen stream.
        public var targetsPerStream = 1_000
        /// Writes of a Write stream that are on their way.
        public var writesOnTheirWay = 64
        /// Bytes of the answer to a query, or of the documents of a request, that wait for a
        /// client; about those of a page of a list.
        public var bytesAhead = 4 << 20
        /// How long such an answer waits for a client that takes nothing of it.
        public var patience = Duration.seconds(30)
        /// How long a connection may be silent before the client is asked for a sign of life.
        public var keepaliveInterval = Duration.seconds(60)
        /// How long such a sign of life may take before the connection counts as lost.
        public var keepaliveTimeout = Duration.seconds(20)
        /// How much time a client lets pass at least before it asks for one again.
        ///
        /// One that asks more often loses its connection. Google's clients ask every 30 seconds.
        public var pingInterval = Duration.seconds(5)
        /// How long clients may take to go when the server stops.
        public var grace = Duration.seconds(2)
        /// Threads that read for queries, and as many for everything else.
        public var readers = 16

        /// What suits a machine of a developer.
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
    /// Names of this server beyond those of its machine and of ``host``: requests by HTTP/1.1 may
    /// name them as their host, and web pages of them may make requests.
    public var allowedHosts: [String] = []
    /// Whether it may listen beyond this machine without TLS and a token.
    public var allowsInsecure = false
    /// What it bears.
    public var limits = Limits()

    /// A server for this machine alone, in plain text.
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
