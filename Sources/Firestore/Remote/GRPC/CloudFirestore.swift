public import LarderModel
public import LarderRemote

/// A connection to Cloud Firestore, or to whatever serves its protocol, over gRPC.
///
/// ```swift
/// let cloud = try CloudFirestore(CloudFirestoreConfiguration(project: "cities"))
/// var configuration = FirestoreConfiguration(directory: directory)
/// configuration.project = "cities"
/// configuration.backend = cloud.connection
/// let db = try Firestore(configuration: configuration)
/// ```
///
/// Nothing is connected before it is needed, and a connection that is lost is made again when
/// something asks for it. Any number of databases may use one, from any thread. Run it as a service
/// of a `ServiceGroup`, or end it with ``close()``.
public final class CloudFirestore: Sendable {
    let remote: CloudRemote

    /// Prepares a connection; nothing is sent yet.
    ///
    /// Blocks for the key file, where the credentials are in one.
    ///
    /// - Throws: `invalidArgument` for a configuration that makes no sense and for a key file that
    ///   is none; `notFound` for one that is not there; `failedPrecondition` where there are no
    ///   credentials.
    public init(_ configuration: CloudFirestoreConfiguration) throws(LarderError) {
        remote = try CloudRemote(configuration)
    }

    /// What databases are configured with; any number of them may use it.
    public var connection: RemoteConnection { RemoteConnection(remote) }

    /// Ends all streams and calls at once, refuses what comes later with `unavailable`, and closes
    /// the connection.
    ///
    /// Databases that use it are offline from then on, and keep what they have. A second call does
    /// nothing but wait.
    public func close() async {
        await remote.close(waitingForCalls: false)
    }

    /// Ends as ``close()`` does, but lets reads, commits and aggregations that are under way end
    /// first; each of them takes as long as ``CloudFirestoreConfiguration/callTimeout`` at most.
    public func shutDownGracefully() async {
        await remote.close(waitingForCalls: true)
    }
}
