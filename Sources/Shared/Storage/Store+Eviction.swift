import CLarder
public import LarderModel

extension Store {
    /// Evicts least recently used documents and targets in one small write transaction.
    ///
    /// Kept are pinned documents, those of pinned targets, and those that a pending mutation
    /// touches. Blocks for its turn to write and for the disk.
    ///
    /// - Parameters:
    ///   - goal: what the store may hold after it, in bytes; nil for the budget.
    ///   - maxDocuments: documents to look at; 0 for 500.
    ///   - maxMicroseconds: time to take; 0 for 2,000.
    /// - Throws: `failedPrecondition` for a store open for reading only.
    public func evict(
        toBytes goal: Int64? = nil, maxDocuments: Int64 = 0, maxMicroseconds: Int64 = 0
    ) throws(LarderError) -> EvictionResult {
        if let goal, goal < 0 { throw .invalidArgument("a goal of \(goal) bytes is below 0") }
        var result = larder_lru_result()
        result.struct_bytes = MemoryLayout<larder_lru_result>.size
        let status = try withEnvironment { (environment) throws(LarderError) in
            try call {
                larder_lru_step(
                    environment, goal ?? -1, maxDocuments, maxMicroseconds, &result, $0)
            }
        }
        return EvictionResult(
            hasMore: status == .more, examinedCount: result.examined_count,
            evictedCount: result.evicted_count, targetCount: result.target_count,
            freedBytes: result.freed_bytes, pinnedCount: result.pinned_count,
            totalBytes: result.total_bytes, elapsedMicroseconds: result.elapsed_us)
    }

    /// Changes the budget; takes effect at the next commit or step of eviction.
    ///
    /// - Throws: `invalidArgument` for a budget below 1 MiB.
    public func setBudget(_ budget: StoreConfiguration.Budget) throws(LarderError) {
        try withEnvironment { (environment) throws(LarderError) in
            _ = try call { larder_env_set_budget(environment, budget.bytes, $0) }
        }
    }

    /// Notes a use of a document; it is written with the next commit.
    ///
    /// Does not block. At most 4,096 uses wait; beyond that the oldest are dropped.
    public func touch(_ path: DocumentPath) throws(LarderError) {
        try withName(path) { larder_lru_touch($0, $1, $2) }
    }

    /// Keeps a document from eviction until it is unpinned as often, or the store is closed.
    public func pin(_ path: DocumentPath) throws(LarderError) {
        try withName(path) { larder_lru_pin($0, $1, $2) }
    }

    /// Keeps documents from eviction, each as ``pin(_:)``; one that fails leaves out no other.
    package func pin(_ paths: [DocumentPath]) throws(LarderError) {
        try withNames(paths) { larder_lru_pin($0, $1, $2) }
    }

    /// Takes back one ``pin(_:)`` of each document; one that fails leaves out no other.
    package func unpin(_ paths: [DocumentPath]) throws(LarderError) {
        try withNames(paths) { larder_lru_unpin($0, $1, $2) }
    }

    /// Takes back one ``pin(_:)``.
    public func unpin(_ path: DocumentPath) throws(LarderError) {
        try withName(path) { larder_lru_unpin($0, $1, $2) }
    }

    /// Keeps a target and its documents from eviction until it is unpinned as often, or the
    /// store is closed.
    public func pin(target id: Int32) throws(LarderError) {
        try withEnvironment { (environment) throws(LarderError) in
            _ = try call { larder_lru_pin_target(environment, id, $0) }
        }
    }

    /// Takes back one ``pin(target:)``.
    public func unpin(target id: Int32) throws(LarderError) {
        try withEnvironment { (environment) throws(LarderError) in
            _ = try call { larder_lru_unpin_target(environment, id, $0) }
        }
    }

    private func withName(
        _ path: DocumentPath,
        _ function: (OpaquePointer, larder_bytes, UnsafeMutablePointer<larder_error>) -> Int32
    ) throws(LarderError) {
        try withNames(CollectionOfOne(path), function)
    }

    private func withNames(
        _ paths: some Collection<DocumentPath>,
        _ function: (OpaquePointer, larder_bytes, UnsafeMutablePointer<larder_error>) -> Int32
    ) throws(LarderError) {
        if paths.isEmpty { return }
        try withEnvironment { (environment) throws(LarderError) in
            var failure: LarderError?
            for path in paths {
                do throws(LarderError) {
                    _ = try call { failure in
                        withBytes(path.string) { function(environment, $0, failure) }
                    }
                } catch {
                    failure = failure ?? error
                }
            }
            if let failure { throw failure }
        }
    }
}
