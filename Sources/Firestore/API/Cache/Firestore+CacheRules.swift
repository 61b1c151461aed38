public import LarderDocumentStore
public import LarderModel
import LarderSync

extension Firestore {
    /// The cache rules that are in force; reads the store on the calling thread.
    ///
    /// - Throws: `failedPrecondition` for a terminated database; errors of the store.
    public var cacheRules: [CacheRule] {
        get throws(LarderError) { try connection.client().cacheRules().map(\.rule) }
    }

    /// The cache rules that are in force, in order, with what is cached by each.
    ///
    /// Runs on the calling thread. Linear in the number of collections of the rules' groups.
    ///
    /// - Throws: `failedPrecondition` for a terminated database; errors of the store.
    public func cacheRuleUsage() throws(LarderError) -> [CacheRuleUsage] {
        try connection.client().cacheRules()
    }

    /// Replaces the cache rules, and evicts what they do not keep.
    ///
    /// The rules are stored: they also hold for later openings with nil as
    /// ``FirestoreConfiguration/cacheRules``, for other processes that share the store and for the
    /// command-line tool. Eviction goes on after the call returns.
    ///
    /// - Throws: `invalidArgument` for more than 256 rules, two rules of one selector, or a rule
    ///   that contradicts itself; nothing is changed then. `failedPrecondition` for a terminated
    ///   database or one open for reading only; errors of the store.
    public nonisolated(nonsending) func setCacheRules(
        _ rules: [CacheRule]
    ) async throws(LarderError) {
        let client = try connection.client()
        try await answer { client.setCacheRules(rules, completion: $0) }
    }
}
