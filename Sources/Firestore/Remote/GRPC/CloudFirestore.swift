import Foundation
import GRPCCore
public import LarderModel
public import LarderRemote
package import LarderWire
public import ServiceLifecycle
import SwiftProtobuf

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

// MARK: - Lifecycle

extension CloudFirestore: Service {
    /// Stays until the service group shuts down gracefully or this task is cancelled, and closes
    /// the connection then.
    ///
    /// The connection works before this is called, too. Databases that use it belong behind it in
    /// the group, so that they end first.
    public func run() async throws {
        do {
            try await gracefulShutdown()
            await shutDownGracefully()
        } catch {
            await close()
        }
    }
}

// MARK: - Queries

/// Queries and transactions on the host's documents alone, for what keeps no database of its own.
///
/// For applications of this package that need the host's answer instead of the cache's; nothing in
/// Larder uses it yet. Databases need none of it: they listen, and their transactions guard what
/// they read by preconditions.
extension CloudFirestore {
    private typealias Method = Google_Firestore_V1_Firestore.Method

    /// Runs a query, and gives its documents as the host finds them.
    ///
    /// A failure that passes is waited out up to four times, as long as no document was given.
    ///
    /// - Parameters:
    ///   - selection: the documents, and what of each.
    ///   - transaction: the transaction that it belongs to; nil for none.
    ///   - credentials: who asks.
    ///   - uptime: the time on a clock that does not stop.
    ///   - pause: waits on that clock before another attempt.
    ///   - body: called with each document in the query's order; the host waits for it.
    /// - Returns: as of when the documents are.
    /// - Throws: `invalidArgument` for a query that has no message; what the host or the network
    ///   answered; what the closure throws.
    package func runQuery(
        _ selection: QuerySelection, in transaction: [UInt8]? = nil,
        as credentials: Credentials = Credentials(),
        uptime: @escaping @Sendable () -> Duration = { [start = ContinuousClock.now] in
            start.duration(to: .now)
        },
        pause: @escaping @Sendable (Duration) async throws -> Void = {
            try await Task.sleep(for: $0)
        },
        _ body: @escaping @Sendable (DocumentReading) async throws(LarderError) -> Void
    ) async throws(LarderError) -> SnapshotVersion {
        var request = try MessageCoder(databaseID).encode(running: selection)
        if let transaction { request.transaction = Data(transaction) }
        let run = QueryAttempts(
            remote.caller, as: credentials, request, uptime: uptime, pause: pause, body)
        return try await remote.holding { () async throws(LarderError) in try await run.run() }
    }

    /// Opens a transaction: what is read in it is of one moment, and its commit is refused with
    /// `aborted` where any of that has changed.
    ///
    /// - Returns: its name; it ends with a commit, ``rollBack(_:as:)``, or by itself.
    /// - Throws: what the host or the network answered.
    package func beginTransaction(
        _ mode: TransactionMode = .readWrite(retrying: []),
        as credentials: Credentials = Credentials()
    ) async throws(LarderError) -> [UInt8] {
        var request = Google_Firestore_V1_BeginTransactionRequest()
        request.database = "\(databaseID)"
        request.options = MessageCoder(databaseID).encode(mode)
        let answer = try await answer(
            Method.BeginTransaction.descriptor, request,
            of: Google_Firestore_V1_BeginTransactionResponse.self, as: credentials)
        return [UInt8](answer.transaction)
    }

    /// Ends a transaction with changes, which may be none.
    ///
    /// - Throws: `aborted` where something that it read has changed; what the host or the network
    ///   answered.
    package func commit(
        _ mutations: [Mutation], in transaction: [UInt8],
        as credentials: Credentials = Credentials()
    ) async throws(LarderError) -> CommitResponse {
        let coder = MessageCoder(databaseID)
        var request = try coder.encode(committing: mutations)
        request.transaction = Data(transaction)
        let answer = try await answer(
            Method.Commit.descriptor, request, of: Google_Firestore_V1_CommitResponse.self,
            as: credentials)
        return try coder.decode(answer)
    }

    /// Ends a transaction without changes.
    ///
    /// - Throws: what the host or the network answered.
    package func rollBack(
        _ transaction: [UInt8], as credentials: Credentials = Credentials()
    ) async throws(LarderError) {
        var request = Google_Firestore_V1_RollbackRequest()
        request.database = "\(databaseID)"
        request.transaction = Data(transaction)
        _ = try await answer(
            Method.Rollback.descriptor, request, of: Google_Protobuf_Empty.self, as: credentials)
    }

    private var databaseID: DatabaseID { remote.caller.configuration.databaseID }

    private func answer<Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message>(
        _ method: MethodDescriptor, _ request: Request, of type: Response.Type,
        as credentials: Credentials
    ) async throws(LarderError) -> Response {
        let caller = remote.caller
        return try await remote.holding { () async throws(LarderError) in
            try await caller.answer(method, request, of: type, as: credentials)
        }
    }
}

// MARK: - Connectors

extension RemoteConnector {
    /// Connects databases to Cloud Firestore, or to the emulator that their settings or
    /// `FIRESTORE_EMULATOR_HOST` name.
    ///
    /// ```swift
    /// let db = Firestore.firestore()
    /// db.useBackend(.cloudFirestore)
    /// ```
    ///
    /// The project and the database's name are those of the database; the credentials those of
    /// ``LarderGRPC/CloudCredentials/applicationDefault(environment:)``.
    public static var cloudFirestore: RemoteConnector { cloudFirestore { _ in } }

    /// As ``cloudFirestore``, with changes such as other credentials.
    ///
    /// Where `FIRESTORE_EMULATOR_HOST` or the database's settings name an emulator, it is asked
    /// there and as its owner, whatever the changes are: it is shown no credentials.
    ///
    /// - Parameter change: called whenever a database opens.
    public static func cloudFirestore(
        _ change: @escaping @Sendable (inout CloudFirestoreConfiguration) -> Void
    ) -> RemoteConnector {
        RemoteConnector { (place) throws(LarderError) in
            try CloudFirestore(CloudFirestoreConfiguration(of: place, change)).connection
        }
    }
}

extension CloudFirestoreConfiguration {
    /// The connection that a database's settings ask for.
    ///
    /// The settings go before the environment, and both before the changes.
    init(
        of place: RemoteConnector.Place,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        _ change: (inout CloudFirestoreConfiguration) -> Void
    ) {
        var environment = environment
        // Another host, which is shown credentials.
        if place.host != nil, place.isEncrypted { environment[Self.emulatorVariable] = nil }
        self.init(
            project: place.database.project, database: place.database.database,
            environment: environment)
        let emulator = security == .plainText ? HostAddress(host: host, port: port) : nil
        change(&self)
        if let address = place.host.map({ HostAddress($0) }) {
            if place.isEncrypted {
                (host, port) = (address.host, address.port == 0 ? Self.cloudPort : address.port)
                if security == .plainText { security = .tls }
            } else {
                useEmulator(withHost: address.host, port: address.port)
            }
        } else if let emulator {
            useEmulator(withHost: emulator.host, port: emulator.port)
        }
    }
}
