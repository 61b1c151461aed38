public import LarderBackend
package import LarderHTTP
public import LarderModel

/// The configuration of a server.
public struct ServerConfiguration: Sendable {
    /// The location of the databases.
    public enum Storage: Hashable, Sendable {
        /// In memory: discarded when the server ends.
        case memory
        /// In a directory of a local file system: a folder for each project, and in it one for
        /// each database.
        case directory(String)
    }

    /// The TLS credentials of a server.
    public struct TLS: Hashable, Sendable {
        /// The path of a PEM file with the certificate and its intermediates.
        public var certificatePath: String
        /// The path of a PEM file with the private key.
        public var keyPath: String

        /// Creates credentials from the paths of PEM files.
        public init(certificatePath: String, keyPath: String) {
            self.certificatePath = certificatePath
            self.keyPath = keyPath
        }
    }

    /// The limits of a server.
    public struct Limits: Hashable, Sendable {
        /// The maximum size of a request in bytes; Firestore allows 10 MiB of writes.
        ///
        /// A request that writes the largest document is accepted in any case.
        public var requestBytes = 11 << 20
        /// The maximum size of a document in bytes, as Firestore counts it; at most 16 MiB.
        public var documentBytes = 1_048_576
        /// The memory in bytes that clients may occupy: requests being received and served, responses
        /// and changes that they have not taken, and the names of documents that a query still has
        /// to read; at least four of the largest request.
        ///
        /// Beyond it, calls of the connection that occupies the most end with RESOURCE_EXHAUSTED. A
        /// connection that occupies half of it is not read from.
        public var memoryBytes = 256 << 20
        /// The time limit for receiving a request of which a part has arrived; after it the call
        /// fails with RESOURCE_EXHAUSTED.
        public var requestTime = Duration.seconds(60)
        /// The time for which a query that is sent to a slow client is of one commit; what is read
        /// later is of a later commit.
        public var snapshotTime = Duration.seconds(30)
        /// The maximum number of open databases; the server is not created if the process cannot
        /// have as many.
        public var databases = 100
        /// The maximum number of open databases that clients of one address have opened: none of
        /// them can take all.
        public var databasesPerAddress = 75
        /// The idle time after which a database may be closed to make room for another.
        ///
        /// The next use opens it again. A database in memory, or with open streams or transactions,
        /// is not closed.
        public var idleTime = Duration.seconds(600)
        /// The maximum number of connections; fewer if the process may not open as many files.
        public var connections = 10_000
        /// The maximum number of connections from one address.
        public var connectionsPerAddress = 5_000
        /// The maximum number of concurrent calls on one connection.
        public var callsPerConnection = 1_000
        /// The maximum number of calls that a client may cancel on one connection in 30 seconds, as
        /// it does to end a listener; a client that exceeds it is disconnected.
        public var callsTakenBack = 10_000
        /// The maximum number of open Listen and Write streams.
        public var streams = 20_000
        /// The maximum number of targets of one Listen stream.
        public var targetsPerStream = 1_000
        /// The maximum number of pending requests of a Write stream.
        public var writesOnTheirWay = 64
        /// The approximate size of a page of a list.
        public var listPageBytes = 1 << 20
        /// The time after which a call ends whose client takes nothing of its response.
        public var patience = Duration.seconds(30)
        /// The idle time after which a connection is pinged.
        public var keepaliveInterval = Duration.seconds(60)
        /// The time after which a connection with an unanswered ping is closed.
        public var keepaliveTimeout = Duration.seconds(20)
        /// The minimum time between two pings of a client; a client that pings more often is
        /// disconnected.
        ///
        /// Google's clients ping every 30 seconds.
        public var pingInterval = Duration.seconds(5)
        /// The time that clients have to disconnect when the server stops.
        public var grace = Duration.seconds(2)
        /// The number of threads for queries, and of those for other reads; one client uses at most
        /// three quarters of them.
        public var readers = 16

        /// Creates limits suitable for a developer's machine.
        public init() {}
    }

    /// The listening address.
    public var host: String
    /// The listening port; 0 for any free port.
    public var port: Int
    /// The location of the databases.
    public var storage: Storage
    /// The certificate; nil for plain text.
    public var tls: TLS?
    /// The bearer token that clients must present in the header `authorization`; nil for none,
    /// never empty.
    public var token: String?
    /// Further names of this server, which are accepted as `Host` of HTTP/1.1 requests and as
    /// origin of web pages.
    public var allowedHosts: [String] = []
    /// Further origins of web pages that may make requests: `https://app.example`, or
    /// `https://*.example.com` for all names of a domain.
    ///
    /// Pages of the server itself may always make them, and those of this machine, such as
    /// `http://localhost:5173`, if the server listens on loopback.
    public var allowedOrigins: [String] = []
    /// Whether the server may be reachable from other machines without TLS and a token.
    public var allowsInsecure = false
    /// The security rules of each database; by default everything is allowed.
    ///
    /// Clients have no user ID.
    public var rules: @Sendable (DatabaseID) -> Backend.Rules = { _ in { _ in .allow } }
    /// The response to `GET /metrics` in Prometheus's text format, see ``PrometheusMetrics``; nil
    /// for no such endpoint.
    public var metricsText: (@Sendable () -> String)?
    /// A file `PROJECT/DATABASE.ndjson`, or a directory with a folder `document_export` of such files,
    /// that fills databases without documents when the server starts; nil for none.
    package var importPath: String?
    /// Shows how far a file is imported; called on any thread.
    package typealias ImportProgress =
        @Sendable (_ path: String, _ doneBytes: Int, _ totalBytes: Int) -> Void
    /// Shows how far ``importPath`` is imported; nil for nothing.
    package var importProgress: ImportProgress?
    /// Where all databases are written to when the server has stopped; nil for nowhere.
    package var exportTarget: ExportTarget?
    /// The limits.
    public var limits = Limits()

    /// Creates a configuration for this machine only, in plain text.
    public init(host: String = "127.0.0.1", port: Int = 8080, storage: Storage) {
        self.host = host
        self.port = port
        self.storage = storage
    }
}

// MARK: - Validation

extension ServerConfiguration {
    /// True if a path is the file of a database, or a directory with such files, for
    /// ``importPath``.
    ///
    /// - Throws: `invalidArgument` if there is nothing at the path, and for a file whose name is not
    ///   that of a database.
    package static func hasImports(at path: String) throws(LarderError) -> Bool {
        try !DocumentFiles.files(at: path).isEmpty
    }

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

    /// The check of requests of web pages.
    ///
    /// - Throws: `invalidArgument` for an allowed origin that is none.
    func webAccess() throws(LarderError) -> WebAccess {
        var origins: [WebAccess.OriginPattern] = []
        for text in allowedOrigins {
            guard let origin = WebAccess.OriginPattern(text) else {
                let reason =
                    text == "*"
                    ? "'*' would let every web page that a browser on this machine shows read and "
                        + "change all data: allow"
                    : "'\(text)' is not an origin of web pages: specify"
                throw LarderError(
                    .invalidArgument,
                    "\(reason) https://app.example, with the port if it is not the usual one, or "
                        + "https://*.example.com")
            }
            origins.append(origin)
        }
        return WebAccess(
            host: host, allowedHosts: allowedHosts, allowedOrigins: origins, hasTLS: tls != nil)
    }
}

extension ServerConfiguration.Limits {
    /// The size of a request with the largest document, or ``requestBytes`` if that is more.
    var acceptedRequestBytes: Int { max(requestBytes, documentBytes + (1 << 20)) }

    /// Throws `invalidArgument` for a size of documents that no store accepts.
    func checkDocumentBytes() throws(LarderError) {
        guard (1_024...16 << 20).contains(documentBytes) else {
            throw .invalidArgument(
                "the maximum document size is \(documentBytes) bytes; it must be from 1024 to "
                    + "16777216 (16 MiB)")
        }
    }

    var ofConnection: HTTP2Connection.Limits {
        HTTP2Connection.Limits(
            streams: callsPerConnection, resets: callsTakenBack,
            keepaliveInterval: keepaliveInterval, keepaliveTimeout: keepaliveTimeout,
            pingInterval: pingInterval, dataPatience: patience)
    }

    /// - Parameter admission: admits large requests.
    func ofHTTP(_ admission: RequestAdmission) -> HTTPLimits {
        HTTPLimits(
            bodyBytes: acceptedRequestBytes, bodyTime: requestTime, writeTime: patience,
            admission: admission)
    }

    /// The limits of connections.
    ///
    /// - Parameter files: the number of connections for which the process has files.
    func ofConnections(files: Int) -> OpenConnections.Limits {
        OpenConnections.Limits(total: connections, perAddress: connectionsPerAddress, files: files)
    }
}
