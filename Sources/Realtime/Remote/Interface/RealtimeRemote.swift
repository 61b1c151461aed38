package import LarderRealtimeModel

/// A Realtime Database server, as an engine uses it.
///
/// Calls return at once. A remote keeps no state of its clients between connections, apart from
/// the session that ``ConnectRequest/lastSessionID`` refers to.
package protocol RealtimeRemote: Sendable {
    /// Opens a connection.
    ///
    /// - Parameter handler: called on any thread, for one event after the other and in order; it
    ///   must return soon. The first event is `opened`, `reset`, `shutdown` or `closed`.
    func connect(
        _ request: ConnectRequest, _ handler: @escaping @Sendable (ConnectionEvent) -> Void
    ) -> any RealtimeConnection
}

/// An open, or opening, connection to a server.
package protocol RealtimeConnection: AnyObject, Sendable {
    /// Sends a request; not before the connection is open.
    ///
    /// - Parameter number: above that of every earlier request of the client; its response has the
    ///   same.
    func send(_ request: RealtimeRequest, number: Int)

    /// Closes the connection; the handler receives nothing more. A second call does nothing.
    func close()
}

/// A client's identification when it connects.
package struct ConnectRequest: Hashable, Sendable {
    /// The session of the client's previous connection, which the server ends if it still has it.
    package var lastSessionID: String?

    package init(lastSessionID: String? = nil) {
        self.lastSessionID = lastSessionID
    }
}

/// An event of a connection.
package enum ConnectionEvent: Sendable {
    /// The server accepted the connection.
    case opened(ServerHello)
    /// The answer to the request of that number.
    case response(number: Int, RealtimeResponse)
    /// A message that answers no request.
    case push(RealtimePush)
    /// The server asks the client to connect to another host; the connection is closed.
    case reset(host: String)
    /// The server asks the client not to connect again; the connection is closed.
    case shutdown(reason: String)
    /// The connection was lost, or could not be made; nil without an error.
    case closed(LarderError?)
}

/// The server's first message.
package struct ServerHello: Hashable, Sendable {
    /// The server's clock, in milliseconds since the Unix epoch.
    package var serverTimeMilliseconds: Int64
    /// The host to use for the next connections.
    package var host: String
    /// The name of the session, for ``ConnectRequest/lastSessionID``.
    package var sessionID: String
    /// Identifies the names of writes that the server keeps; nil for a server that keeps none.
    ///
    /// A server that has lost names that it kept sends another value; see `WriteToken`.
    package var namesID: String?

    package init(
        serverTimeMilliseconds: Int64, host: String, sessionID: String, namesID: String? = nil
    ) {
        self.serverTimeMilliseconds = serverTimeMilliseconds
        self.host = host
        self.sessionID = sessionID
        self.namesID = namesID
    }
}

/// A Realtime Database server that a database synchronises with.
///
/// An opaque value: a backend provides it, a database's configuration takes it. Any number of
/// databases may use one.
public struct RealtimeRemoteConnection: Sendable {
    /// The server.
    package let remote: any RealtimeRemote

    /// A server behind a remote.
    package init(_ remote: any RealtimeRemote) {
        self.remote = remote
    }
}

/// Makes the remote of a database when the database is first used, from its URL and settings.
///
/// An opaque value: a module that connects to servers provides it, a database's configuration
/// takes it. Any number of databases may use one; each has a remote of its own.
public struct RealtimeRemoteConnector: Sendable {
    /// The address of a database.
    package struct Address: Hashable, Sendable {
        /// The server's host, with or without a port.
        package var host: String
        /// The name of the database on the server.
        package var namespace: String
        /// True if the connection is encrypted.
        package var isEncrypted: Bool

        package init(host: String, namespace: String, isEncrypted: Bool = true) {
            self.host = host
            self.namespace = namespace
            self.isEncrypted = isEncrypted
        }
    }

    /// Makes the remote of an address; may block for files that it reads.
    package let connect: @Sendable (Address) throws(LarderError) -> RealtimeRemoteConnection

    /// A connector that calls a closure.
    package init(
        _ connect: @escaping @Sendable (Address) throws(LarderError) -> RealtimeRemoteConnection
    ) {
        self.connect = connect
    }
}
