import CLarder
import Foundation
public import LarderCore

extension Store {
    /// Makes a new store of everything that can be read of a damaged one, without opening it.
    ///
    /// Pending writes come first, then refused ones, documents, targets, trees and the rest. The
    /// damaged store stays as it is. Blocks until the new store is on disk. Progress is in bytes,
    /// read and written. Beside the target there has to be room for the damaged store's size twice.
    ///
    /// Where something is lost, queries of the new store have no resume tokens, so that a backend
    /// sends all of their documents again. What clients of a shared store tell each other is left
    /// out.
    ///
    /// - Parameters:
    ///   - directory: the directory of the damaged store.
    ///   - target: the directory of the new store; it must be missing or empty.
    ///   - errorDomain: the domain of errors; see ``StoreConfiguration/errorDomain``.
    ///   - progress: called periodically; may stop the call.
    /// - Returns: what was found, lost and guessed. Losses do not throw.
    /// - Throws: `cancelled` when progress stopped it; `alreadyExists` for a target that holds
    ///   something; `notFound` with the condition `noStore`; `failedPrecondition` with `alreadyOpen`
    ///   or `locked`; `unavailable` or `resourceExhausted` from the disk.
    public static func salvage(
        directory: String, into target: String, errorDomain: String = LarderError.sharedDomain,
        progress: ProgressHandler = { _ in .continue }
    ) throws(LarderError) -> SalvageReport {
        var report = larder_salvage_report()
        report.struct_bytes = MemoryLayout<larder_salvage_report>.size
        let status = try withCallbacks(progress: progress) { (context) throws(LarderError) in
            try call(errorDomain) { failure in
                directory.withCString { from in
                    target.withCString { into in
                        larder_salvage(
                            from, into, StoreCallbacks.progress, context, &report, failure)
                    }
                }
            }
        }
        guard status == .ok else { throw LarderError(status: status, domain: errorDomain) }
        return SalvageReport(report)
    }

    /// Verifies the pages of a store's files, its rows' checksums and the write-ahead log, without
    /// opening it.
    ///
    /// Ends with an answer whatever the files hold, and takes no lock. While another process writes
    /// to the store it may report problems that are none. Progress is in bytes.
    ///
    /// - Parameters:
    ///   - directory: the store's directory.
    ///   - errorDomain: the domain of errors; see ``StoreConfiguration/errorDomain``.
    ///   - onProblem: called with each problem, on the calling thread; may stop the check.
    ///   - progress: called periodically; may stop the check.
    /// - Returns: the number of pages read and problems found. Damage does not throw.
    /// - Throws: `cancelled` when a closure stopped it; `notFound` with the condition `noStore`;
    ///   `unavailable` from the disk.
    public static func checkPages(
        directory: String, errorDomain: String = LarderError.sharedDomain,
        onProblem: (PageProblem) -> IterationStep = { _ in .continue },
        progress: ProgressHandler = { _ in .continue }
    ) throws(LarderError) -> PagesReport {
        var report = larder_pages_report()
        report.struct_bytes = MemoryLayout<larder_pages_report>.size
        var failure = larder_error()
        let status = try withCallbacks(progress: progress, pageProblem: onProblem) { context in
            directory.withCString {
                larder_check_pages(
                    $0, StoreCallbacks.pageProblem, StoreCallbacks.progress, context, &report,
                    &failure)
            }
        }
        // Problems come with a count; the same status without one is a failure of the call.
        guard status == .ok || status == .corrupt && report.problem_count > 0 else {
            throw error(of: status, failure, errorDomain)
        }
        return PagesReport(report)
    }
}

extension Store {
    /// The directories that hold files of this store from when it was damaged, oldest first; see
    /// ``StoreConfiguration/Recovery/quarantine``.
    ///
    /// Nothing deletes them.
    public var quarantines: [String] {
        guard let directory else { return [] }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.hasPrefix("damaged-") }.sorted().map { directory + "/" + $0 }
    }
}

/// What was salvaged of a damaged store.
public struct SalvageReport: Hashable, Sendable {
    /// The result for one kind of data.
    public struct Count: Hashable, Sendable {
        /// The number in the new store.
        public let found: Int64
        /// The number known to have been there, by a count or a damaged row, and not found; there
        /// may be more where the counts are lost as well.
        public let lost: Int64
        /// The number of those found where nothing refers to them any more: they may be older
        /// versions, or have been removed.
        public let guessed: Int64

        init(_ count: larder_salvage_count) {
            found = count.found_count
            lost = count.lost_count
            guessed = count.guessed_count
        }
    }

    /// Pending writes of documents.
    public let pendingWrites: Count
    /// Pending writes of trees.
    public let treeWrites: Count
    /// Writes of both that a backend refused.
    public let refusedWrites: Count
    /// Documents.
    public let documents: Count
    /// Views of documents with pending writes applied.
    public let overlays: Count
    /// Queries that a backend answers.
    public let targets: Count
    /// Rows of trees.
    public let nodes: Count
    /// Tracked queries of trees.
    public let trackedQueries: Count
    /// Bundles, named queries and other values.
    public let values: Count
    /// The last commit of which something whole was found.
    public let commitNumber: UInt64
    /// Pages of the data file.
    public let pageCount: Int64
    /// Pages of tables that are damaged or missing.
    public let damagedPageCount: Int64
    /// Acknowledged commits that cannot be read.
    public let damagedCommitCount: Int64
    /// Pending writes in old pages that are known to have been acknowledged, and are left out.
    public let settledCount: Int64

    init(_ report: larder_salvage_report) {
        pendingWrites = Count(report.batches)
        treeWrites = Count(report.tree_writes)
        refusedWrites = Count(report.refused_writes)
        documents = Count(report.documents)
        overlays = Count(report.overlays)
        targets = Count(report.targets)
        nodes = Count(report.nodes)
        trackedQueries = Count(report.queries)
        values = Count(report.values)
        commitNumber = report.commit_number
        pageCount = report.page_count
        damagedPageCount = report.damaged_page_count
        damagedCommitCount = report.damaged_record_count
        settledCount = report.settled_count
    }

    /// True if everything was found and nothing guessed, as far as is known.
    public var isComplete: Bool {
        damagedPageCount == 0 && damagedCommitCount == 0
            && [
                pendingWrites, treeWrites, refusedWrites, documents, overlays, targets, nodes,
                trackedQueries, values,
            ].allSatisfy { $0.lost == 0 && $0.guessed == 0 }
    }
}

/// The result of checking a store's pages.
public struct PagesReport: Hashable, Sendable {
    /// Pages of the data file.
    public let pageCount: Int64
    /// Pages of tables and large values that were verified.
    public let verifiedPageCount: Int64
    /// Pages listed as free.
    public let freePageCount: Int64
    /// Rows that were read.
    public let rowCount: Int64
    /// Commits in the write-ahead log after its checkpoint.
    public let loggedCommitCount: Int64
    /// Problems that were found.
    public let problemCount: Int64
    /// The last commit, by the log or the newer meta page.
    public let commitNumber: UInt64

    init(_ report: larder_pages_report) {
        pageCount = report.page_count
        verifiedPageCount = report.tree_count
        freePageCount = report.free_count
        rowCount = report.row_count
        loggedCommitCount = report.record_count
        problemCount = report.problem_count
        commitNumber = report.commit_number
    }
}

/// A problem found by a check of pages.
public struct PageProblem: Hashable, Sendable {
    /// The page; nil if the problem is not that of one page.
    public let page: UInt64?
    /// The table; nil if the problem is not that of one table.
    public let table: String?
    /// The problem, in words.
    public let message: String
}
