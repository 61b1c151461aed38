public import LarderModel
import LarderPlanning
import LarderSync

extension Query {
    /// Runs the query on the cache, and tells how: the plan, the indexes, what was read.
    ///
    /// On the calling thread, once this object's earlier writes are committed.
    ///
    /// - Throws: `invalidArgument` for an invalid query; what the store reports.
    public nonisolated(nonsending) func explain() async throws(LarderError) -> QueryExplanation {
        try await firestore.read(place) { client throws(LarderError) in
            QueryExplanation(try client.run(try executable.get()).execution)
        }
    }
}
