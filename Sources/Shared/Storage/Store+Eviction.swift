import CLarder
public import LarderCore

extension Store {
    /// Evicts least recently used documents and targets in one small write transaction.
    ///
    /// Kept are pinned documents, those of pinned targets, and those that a pending mutation
    /// touches. Blocks for its turn to write and for the disk.
    ///
    /// - Parameters:
    ///   - goal: the size to reach, in bytes; nil for the budget.
    ///   - maxDocuments: the number of documents to examine; 0 for 500.
    ///   - maxMicroseconds: the time limit; 0 for 2,000.
    /// - Throws: `failedPrecondition` for a store open for reading only.
    public func evict(
        toBytes goal: Int64? = nil, maxDocuments: Int64 = 0, maxMicroseconds: Int64 = 0
    ) throws(LarderError) -> EvictionResult {
        if let goal, goal < 0 {
            throw error(ofArgument: "the goal is \(goal) bytes; it is at least 0", errorDomain)
        }
        var result = larder_lru_result()
        result.struct_bytes = MemoryLayout<larder_lru_result>.size
        let status = try withEnvironment { (environment) throws(LarderError) in
            try call(errorDomain) {
                larder_lru_step(
                    environment, goal ?? -1, maxDocuments, maxMicroseconds, &result, $0)
            }
        }
        return EvictionResult(
            hasMore: status == .more, examinedCount: result.examined_count,
            evictedCount: result.evicted_count, targetCount: result.target_count,
            trackedQueryCount: result.query_count, freedBytes: result.freed_bytes,
            pinnedCount: result.pinned_count,
            totalBytes: result.total_bytes, elapsedMicroseconds: result.elapsed_us)
    }

    /// The number of the last commit in which this object evicted something; 0 before the first.
    ///
    /// Rows read from an earlier commit may have been evicted since. Also 0 for a closed store.
    package var lastEvictionCommit: UInt64 {
        let number = try? withEnvironment { (environment) throws(LarderError) in
            larder_lru_commit_number(environment)
        }
        return number ?? 0
    }

    /// Changes the budget; takes effect at the next commit or step of eviction.
    ///
    /// - Throws: `invalidArgument` for a budget below 1 MiB.
    public func setBudget(_ budget: StoreConfiguration.Budget) throws(LarderError) {
        try withEnvironment { (environment) throws(LarderError) in
            _ = try call(errorDomain) { larder_env_set_budget(environment, budget.bytes, $0) }
        }
    }
}

/// The result of an eviction step.
public struct EvictionResult: Hashable, Sendable {
    /// True if the store is above the goal and another step can free more.
    public let hasMore: Bool
    /// Documents that were looked at.
    public let examinedCount: Int64
    /// Documents that were evicted.
    public let evictedCount: Int64
    /// Targets that were removed.
    public let targetCount: Int64
    /// Tracked queries of trees that were removed, with the nodes that no other one keeps.
    public let trackedQueryCount: Int64
    /// Bytes that were freed.
    public let freedBytes: Int64
    /// Documents that were examined and kept.
    public let pinnedCount: Int64
    /// The size of the store's contents after the step, in bytes.
    public let totalBytes: Int64
    /// The duration of the step, in microseconds.
    public let elapsedMicroseconds: Int64
}
