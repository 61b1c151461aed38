package import LarderModel
package import LarderQuery

/// A connection to a backend: what an engine needs of it, and no more.
///
/// Every call returns at once. Handlers are called on any thread, those of one stream one after
/// the other and in order, and must return soon. A remote keeps nothing of its clients' state: an
/// engine that opens a stream says again what it wants to know.
package protocol Remote: Sendable {
    /// How many writes may be on their way at a time: the longer an answer takes, or the more
    /// writes share a commit, the more.
    var writePipelineDepth: Int { get }

    /// Opens a stream that tells of changes of documents.
    ///
    /// The handler hears `opened` first, or `closed` alone. The caller holds the stream; letting
    /// it go closes it.
    func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream

    /// Opens a stream that takes writes, in order.
    ///
    /// As ``openWatchStream(as:_:)`` in everything else.
    func openWriteStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) -> any WriteStream

    /// Reads documents, all as of one moment.
    ///
    /// - Parameter completion: called once, with a reading for each path, in the order of the
    ///   paths.
    func read(
        _ paths: [DocumentPath], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void)

    /// Makes changes together, or none of them.
    ///
    /// - Parameter completion: called once. After a failure that leaves it open whether the
    ///   changes were made (`unavailable`, `deadlineExceeded`, `unknown`, `internal`), they may
    ///   have been.
    func commit(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void)

    /// Aggregates over what matches a target.
    ///
    /// - Parameter completion: called once, with a value for each aggregate, in order.
    func aggregate(
        _ aggregates: [Aggregate], over target: QueryTarget, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void)

    /// Forgets a token of access that the backend has refused, so that the next call asks for a
    /// new one.
    func invalidateToken()
}

extension Remote {
    /// As many as Firestore's clients have on their way.
    package var writePipelineDepth: Int { 10 }
}

/// An open, or opening, stream that tells of changes of documents.
package protocol WatchStream: AnyObject, Sendable {
    /// Begins or ends watching a target; what is sent before the stream is open waits.
    func send(_ request: WatchRequest)

    /// Lets the handler have so many responses more; it begins with none.
    func demand(_ count: Int)

    /// Ends the stream; the handler hears nothing more. A second call does nothing.
    func close()
}

/// An open, or opening, stream that takes writes.
package protocol WriteStream: AnyObject, Sendable {
    /// Sends a request; the first is answered with the handshake, each other one with its
    /// results. A refused one closes the stream with the reason.
    func send(_ request: WriteRequest)

    /// Ends the stream; the handler hears nothing more. A second call does nothing.
    func close()
}

/// As whom a client speaks to a backend.
package struct Credentials: Sendable, Hashable {
    /// The user's id; empty for nobody who signed in.
    package var userID: String

    /// A user by an id.
    package init(userID: String = "") {
        self.userID = userID
    }
}

/// A backend that a database is kept in agreement with.
///
/// An opaque value: a backend gives it, a database's configuration takes it. Any number of
/// databases may use one.
public struct RemoteConnection: Sendable {
    /// The connection itself.
    package let remote: any Remote

    /// Makes a connection of a remote.
    package init(_ remote: any Remote) {
        self.remote = remote
    }
}

/// Makes the connection of a database to its backend when the database opens, to where its
/// settings say.
///
/// An opaque value: a module that connects gives it, a database's configuration takes it. Any
/// number of databases may use one; each has a connection of its own, for as long as it lives.
public struct RemoteConnector: Sendable {
    /// What a database says of itself and of its backend.
    package struct Place: Sendable, Hashable {
        /// The database.
        package var database: DatabaseID
        /// The backend's host, with or without a port; nil where the settings name none.
        package var host: String?
        /// Whether what travels there is encrypted.
        package var isEncrypted: Bool

        /// A database, and a host where its settings name one.
        package init(_ database: DatabaseID, host: String? = nil, isEncrypted: Bool = true) {
            self.database = database
            self.host = host
            self.isEncrypted = isEncrypted
        }
    }

    /// Makes a connection; may block for files that it needs.
    package let connect: @Sendable (Place) throws(LarderError) -> RemoteConnection

    /// A connector of a closure.
    package init(
        _ connect: @escaping @Sendable (Place) throws(LarderError) -> RemoteConnection
    ) {
        self.connect = connect
    }
}

extension Backoff {
    /// The backoff of Firestore's clients: 1 s, growing by half, at most 60 s.
    package static var firestore: Backoff {
        Backoff(initial: .seconds(1), factor: 1.5, longest: .seconds(60))
    }
}
