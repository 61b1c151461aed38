import CLarder
public import LarderCore

extension ReadableTransaction where Self: ~Copyable {
    /// Verifies every row and every invariant between tables, and changes nothing.
    ///
    /// Linear in the size of the store. Progress is in rows.
    ///
    /// - Parameters:
    ///   - onProblem: called with each problem, on the calling thread; may stop the check.
    ///   - progress: called periodically; may stop the check.
    /// - Returns: the number of rows read and problems found. Damage does not throw.
    /// - Throws: `cancelled` when a closure stopped it; `unavailable` from the disk.
    public func check(
        onProblem: (CheckProblem) -> IterationStep = { _ in .continue },
        progress: ProgressHandler = { _ in .continue }
    ) throws(LarderError) -> CheckReport {
        var report = larder_check_report()
        report.struct_bytes = MemoryLayout<larder_check_report>.size
        var failure = larder_error()
        let reader = snapshot.reader
        let status = try withCallbacks(progress: progress, problem: onProblem) { context in
            larder_check(
                reader, StoreCallbacks.problem, StoreCallbacks.progress, context, &report,
                &failure)
        }
        // Problems come with a count; the same status without one is a failure of the call.
        guard status == .ok || status == .corrupt && report.problem_count > 0 else {
            throw error(of: status, failure, snapshot.errorDomain)
        }
        return CheckReport(
            rowCount: report.row_count, documentCount: report.document_count,
            indexEntryCount: report.index_entry_count, nodeRowCount: report.node_row_count,
            trackedQueryCount: report.tracked_query_count,
            nodeWriteCount: report.node_write_count, problemCount: report.problem_count)
    }
}

extension Store {
    /// Verifies the newest commit; see ``ReadableTransaction/check(onProblem:progress:)``.
    public func check(
        onProblem: (CheckProblem) -> IterationStep = { _ in .continue },
        progress: ProgressHandler = { _ in .continue }
    ) throws(LarderError) -> CheckReport {
        try read { transaction throws(LarderError) in
            try transaction.check(onProblem: onProblem, progress: progress)
        }
    }
}

/// The result of checking a store.
public struct CheckReport: Hashable, Sendable {
    /// Rows that were read.
    public let rowCount: Int64
    /// Documents among them.
    public let documentCount: Int64
    /// Index entries among them.
    public let indexEntryCount: Int64
    /// Rows of trees among them; a row holds many small nodes.
    public let nodeRowCount: Int64
    /// Tracked queries of trees among them.
    public let trackedQueryCount: Int64
    /// Pending and refused writes of trees among them.
    public let nodeWriteCount: Int64
    /// Problems that were found.
    public let problemCount: Int64

    /// True if nothing is wrong.
    public var isClean: Bool { problemCount == 0 }
}

/// A problem found by a check.
public struct CheckProblem: Hashable, Sendable {
    /// The table of the row.
    public let table: String
    /// The row's key.
    public let key: [UInt8]
    /// The problem, in words.
    public let message: String
}
