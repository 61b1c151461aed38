/// The host that the next connection of a database is made to.
///
/// Servers name the host to use for next connections in their greeting, or send a client to
/// another one at once. Such a host is used until it cannot be reached; then it is the configured
/// one's turn again.
struct ServerHosts: Sendable {
    /// After so many resets in a row a further one is refused, so that servers which send a client
    /// to each other do not keep it busy.
    private static let maximumResets = 5
    /// A connection that lasted so long was worth a reset.
    private static let successDuration = Duration.seconds(30)

    private let configured: ServerEndpoint
    private var preferred: ServerEndpoint?
    private var resetCount = 0

    /// The configured host, and no other yet.
    init(_ configured: ServerEndpoint) {
        self.configured = configured
    }

    /// The endpoint of the next connection.
    var current: ServerEndpoint { preferred ?? configured }

    /// A server greeted the client and named a host.
    ///
    /// Without encryption the name is ignored: an emulator may be reached by another one than it
    /// knows, and nothing vouches for the server.
    mutating func greeted(naming host: String) {
        guard configured.isEncrypted, let endpoint = endpoint(host) else { return }
        preferred = endpoint
    }

    /// A server sends the client to another host.
    ///
    /// - Parameter duration: how long the connection lasted.
    /// - Returns: false for an invalid host, and if the client was sent on too often.
    mutating func reset(to host: String, after duration: Duration) -> Bool {
        if duration >= Self.successDuration { resetCount = 0 }
        resetCount += 1
        guard resetCount <= Self.maximumResets, let endpoint = endpoint(host) else {
            resetCount = 0
            preferred = nil
            return false
        }
        preferred = endpoint
        return true
    }

    /// A connection ended without a reset.
    ///
    /// - Parameter wasGreeted: false if the server was not reached.
    mutating func ended(wasGreeted: Bool) {
        resetCount = 0
        if !wasGreeted { preferred = nil }
    }

    private func endpoint(_ host: String) -> ServerEndpoint? {
        ServerEndpoint(host, isEncrypted: configured.isEncrypted)
    }
}
