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
