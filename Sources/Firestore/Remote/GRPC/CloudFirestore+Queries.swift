import Foundation
import GRPCCore
package import LarderModel
package import LarderRemote
package import LarderWire
import SwiftProtobuf

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
        let run = QueryRun(
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
