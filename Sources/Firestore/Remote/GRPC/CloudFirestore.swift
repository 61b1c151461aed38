import Foundation
import GRPCCore
public import LarderModel
package import LarderQuery
public import LarderRemote
package import LarderWire
public import ServiceLifecycle
import SwiftProtobuf

/// A connection over gRPC to Cloud Firestore or another server of its protocol.
///
/// ```swift
/// let cloud = try CloudFirestore(CloudFirestoreConfiguration(project: "cities"))
/// var configuration = FirestoreConfiguration(directory: directory)
/// configuration.project = "cities"
/// configuration.backend = cloud.connection
/// let db = try Firestore(configuration: configuration)
/// ```
///
/// Connects on first use, and reconnects on the next use after a lost connection. Thread-safe; any
/// number of databases may share one. Run it as a service of a `ServiceGroup`, or end it with
/// ``close()``.
public final class CloudFirestore: Sendable {
    let remote: CloudRemote

    /// Prepares a connection without sending anything.
    ///
    /// Blocks while a key file is read, if the credentials use one.
    ///
    /// - Throws: `invalidArgument` for an invalid configuration or key file; `notFound` for a
    ///   missing key file; `failedPrecondition` without credentials.
    public init(_ configuration: CloudFirestoreConfiguration) throws(LarderError) {
        remote = try CloudRemote(configuration)
    }

    /// The value for a database's configuration; any number of databases may share it.
    public var connection: RemoteConnection { RemoteConnection(remote) }

    /// Ends all streams and calls immediately, refuses later ones with `unavailable`, and closes
    /// the connection.
    ///
    /// Databases that use the connection go offline and keep their data. Further calls only wait
    /// for the first.
    public func close() async {
        await remote.close(waitingForCalls: false)
    }

    /// Closes like ``close()``, after waiting for reads, commits and aggregations in progress; each
    /// takes at most ``CloudFirestoreConfiguration/callTimeout``.
    public func shutDownGracefully() async {
        await remote.close(waitingForCalls: true)
    }
}

// MARK: - Lifecycle

extension CloudFirestore: Service {
    /// Waits for the service group's graceful shutdown or the task's cancellation, then closes the
    /// connection.
    ///
    /// The connection works before this call. List databases that use it after it in the group, so
    /// that they shut down first.
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

/// Queries and transactions evaluated by the backend alone, without a local database.
///
/// Databases use neither: they listen, and their transactions verify reads with preconditions.
extension CloudFirestore {
    private typealias Method = Google_Firestore_V1_Firestore.Method

    /// Runs a query and delivers its documents as the backend returns them.
    ///
    /// Retries transient failures up to four times before the first document.
    ///
    /// - Parameters:
    ///   - selection: the query and its projection.
    ///   - transaction: the enclosing transaction, if any.
    ///   - uptime: the time on a monotonic clock.
    ///   - pause: sleeps on that clock before a retry.
    ///   - body: called with each document in the query's order; the backend waits for it.
    /// - Returns: the read time.
    /// - Throws: `invalidArgument` for a query that cannot be encoded; the error of the backend,
    ///   the network or the closure.
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

    /// Begins a transaction: its reads share a snapshot, and its commit fails with `aborted` if any
    /// of the documents read has changed.
    ///
    /// - Returns: its ID; it ends with a commit, with ``rollBack(_:as:)``, or by expiry.
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

    /// Commits a transaction, possibly without writes.
    ///
    /// - Throws: `aborted` if a document it read has changed; the error of the backend or the
    ///   network.
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
    /// Connects databases to Cloud Firestore, or to the emulator named by their settings or by
    /// `FIRESTORE_EMULATOR_HOST`.
    ///
    /// ```swift
    /// let db = Firestore.firestore()
    /// db.useBackend(.cloudFirestore)
    /// ```
    ///
    /// The project and the database name are those of the database; the credentials are
    /// ``LarderGRPC/CloudCredentials/applicationDefault(environment:)``.
    public static var cloudFirestore: RemoteConnector { cloudFirestore { _ in } }

    /// Like ``cloudFirestore``, with a modified configuration, such as other credentials.
    ///
    /// An emulator named by `FIRESTORE_EMULATOR_HOST` or the database's settings takes precedence
    /// over the modified address and receives no credentials.
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
    /// The configuration for a database's settings.
    ///
    /// The settings take precedence over the environment, and both over `change`.
    init(
        of place: RemoteConnector.Place,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        _ change: (inout CloudFirestoreConfiguration) -> Void
    ) {
        var environment = environment
        // The settings name another host than the emulator; it receives credentials.
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
