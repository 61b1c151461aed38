package import LarderModel
package import LarderQuery

/// A connection to a backend, as a sync engine needs it.
///
/// Calls return immediately. Handlers are called on any thread, serially and in order for each
/// stream, and must return quickly. A remote keeps no client state: an engine sends its targets
/// again on each new stream.
package protocol Remote: Sendable {
    /// The maximum number of writes without a response; slow responses and group commit call for
    /// more.
    var writePipelineDepth: Int { get }

    /// Opens a stream of document changes.
    ///
    /// The first event is `opened`, or `closed` alone. Releasing the stream closes it.
    func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream

    /// Opens a stream that accepts writes in order; otherwise like ``openWatchStream(as:_:)``.
    func openWriteStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) -> any WriteStream

    /// Reads documents in one snapshot.
    ///
    /// - Parameter completion: called once, with a reading for each path in order.
    func read(
        _ paths: [DocumentPath], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void)

    /// Commits mutations atomically.
    ///
    /// - Parameter completion: called once. After `unavailable`, `deadlineExceeded`, `unknown` and
    ///   `internal` the mutations may have been committed.
    func commit(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void)

    /// Aggregates over a target's documents.
    ///
    /// - Parameter completion: called once, with a value for each aggregate in order.
    func aggregate(
        _ aggregates: [Aggregate], over target: QueryTarget, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void)

    /// Runs a query, with its offset and its projection, in one snapshot.
    ///
    /// - Parameter completion: called once, with the documents in the query's order.
    func run(
        _ selection: QuerySelection, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<SelectedDocuments, LarderError>) -> Void)

    /// Lists the IDs of the collections below a document, or at the root for nil, in order.
    func listCollectionIDs(
        below parent: DocumentPath?, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[String], LarderError>) -> Void)

    /// Lists the documents of a collection, including missing ones that have descendants, in order.
    func listDocuments(
        in collection: CollectionPath, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentPath], LarderError>) -> Void)

    /// Lists existing documents of a part of the database, in the order of their names.
    func list(
        _ page: SubtreePage, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentPath], LarderError>) -> Void)

    /// Commits each mutation by itself, in any order; they are of different documents.
    ///
    /// - Parameter completion: called once, with a result for each mutation in order, or with an
    ///   error as ``commit(_:as:_:)``.
    func commitEach(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[MutationOutcome], LarderError>) -> Void)

    /// Discards an access token that the backend has refused; the next call obtains a new one.
    func invalidateToken()
}

extension Remote {
    /// The depth of Firestore's clients.
    package var writePipelineDepth: Int { 10 }
}

/// An open or opening stream of document changes.
package protocol WatchStream: AnyObject, Sendable {
    /// Adds or removes a target; requests before the stream opens are queued.
    func send(_ request: WatchRequest)

    /// Adds demand: the number of responses that the handler may receive, initially 0.
    func demand(_ count: Int)

    /// Ends the stream; the handler receives nothing more. Idempotent.
    func close()
}

/// An open or opening stream of writes.
package protocol WriteStream: AnyObject, Sendable {
    /// Sends a request. The first is answered by the handshake, each further one by its results; a
    /// refused request closes the stream with the error.
    func send(_ request: WriteRequest)

    /// Ends the stream; the handler receives nothing more. Idempotent.
    func close()
}

/// The identity of a client at a backend.
package struct Credentials: Sendable, Hashable {
    /// The user ID; empty if no user is signed in.
    package var userID: String

    package init(userID: String = "") {
        self.userID = userID
    }
}

/// A connection to a backend, for a database's configuration.
///
/// Obtained from a backend; any number of databases may share one.
public struct RemoteConnection: Sendable {
    package let remote: any Remote

    package init(_ remote: any Remote) {
        self.remote = remote
    }
}

/// Creates a database's connection to its backend when the database opens, at the address in its
/// settings.
///
/// Obtained from a connection module; any number of databases may share one, and each gets a
/// connection of its own.
public struct RemoteConnector: Sendable {
    /// A database and the address of its backend.
    package struct Place: Sendable, Hashable {
        package var database: DatabaseID
        /// The backend's host, optionally with a port; nil if the settings name none.
        package var host: String?
        package var isEncrypted: Bool

        package init(_ database: DatabaseID, host: String? = nil, isEncrypted: Bool = true) {
            self.database = database
            self.host = host
            self.isEncrypted = isEncrypted
        }
    }

    /// Creates a connection; may block while reading files.
    package let connect: @Sendable (Place) throws(LarderError) -> RemoteConnection

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
