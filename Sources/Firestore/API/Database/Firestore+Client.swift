import Dispatch
import LarderModel
import LarderQuery
import LarderSync

extension Firestore {
    /// What may block, for callers that must not.
    static let blockingQueue = DispatchQueue(
        label: "larder.blocking", qos: .userInitiated, attributes: .concurrent)

    /// Asks the client, or answers why there is none.
    func withClient<Value>(
        _ done: @escaping Completion<Value>, _ body: (Client, @escaping Completion<Value>) -> Void
    ) {
        do throws(LarderError) {
            body(try connection.client(), done)
        } catch {
            done(.failure(error))
        }
    }

    /// Reads on the calling thread once this object's earlier writes to a place are committed,
    /// and on a thread of the client where some are under way.
    func read<Value>(
        _ source: Result<LarderQuery.Query.Source, LarderError>? = nil,
        _ done: @escaping Completion<Value>,
        _ body: @escaping @Sendable (Client) throws(LarderError) -> Value
    ) {
        withClient(done) { client, done in
            client.afterEarlierWrites(touching: try? source?.get()) {
                done(Result { () throws(LarderError) in try body(client) })
            }
        }
    }

    /// Reads on the calling thread once this object's earlier writes to a place are committed.
    nonisolated(nonsending) func read<Value>(
        _ source: Result<LarderQuery.Query.Source, LarderError>? = nil,
        _ body: (Client) throws(LarderError) -> Value
    ) async throws(LarderError) -> Value {
        let client = try connection.client()
        await client.earlierWritesCommitted(touching: try? source?.get())
        return try body(client)
    }
}
