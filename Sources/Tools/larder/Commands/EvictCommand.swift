import ArgumentParser
import LarderDocumentStore
import LarderModel

/// `larder evict`: removes the least recently used documents.
struct EvictCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Evicts the least recently used data until a goal is reached.",
        discussion: """
            The goal is the size of all rows ('larder stat', total), or a percentage of the \
            current size. Documents with pending writes and pinned documents are kept. Works in \
            small steps, so that other writers wait for milliseconds at most. The data file \
            keeps its size and reuses the freed pages; 'larder compact' creates a smaller one. \
            Exit status 1 if the goal was not reached because the remaining documents must be \
            kept. A store that may be the only copy of its data, such as a local database, a \
            backend's store or an import, is refused without --force.

            EXAMPLES
              larder evict 16MiB
              larder evict 50% --pin cities/SF
            """)

    @Argument(
        help: ArgumentHelp("A size such as 16MiB, or a share such as 50%.", valueName: "goal"))
    var goal: EvictionGoal

    @Option(
        help: ArgumentHelp("Keep this document (may be repeated).", valueName: "document"))
    var pin: [String] = []

    @Option(help: ArgumentHelp("The number of documents to examine in a step.", valueName: "count"))
    var stepDocuments = 500

    @Option(help: ArgumentHelp("The duration of a step in microseconds.", valueName: "us"))
    var stepMicroseconds = 2000

    @Flag(help: "Evict even if the store may be the only copy of its data.")
    var force = false

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        if stepDocuments < 1 || stepMicroseconds < 1 {
            throw ValidationError("--step-documents and --step-microseconds must be positive.")
        }
    }

    func run() throws {
        let pinned = try pin.map(PathArgument.document)
        let output = Output.standard()
        let isReached = try options.describingErrors {
            let store = try options.open(.readWrite)
            let statistics = try store.statistics()
            let rules = try store.read { txn throws(LarderError) in try txn.cacheRules() }
            if goal.bytes(of: statistics.totalBytes) < statistics.totalBytes || !rules.isEmpty {
                try options.refuseLoss(
                    of: EvictionRun.contents(statistics), in: try StoreKind(store), isForced: force)
            }
            for path in pinned { try store.pin(path) }
            let run = try EvictionRun(
                store, goal: goal, stepDocuments: stepDocuments,
                stepMicroseconds: stepMicroseconds)
            try store.close()
            if options.json {
                output.line(run.report)
            } else {
                for line in run.lines { output.line(line) }
            }
            return run.isReached
        }
        try output.flush()
        if Interruption.isRequested { throw ToolError.interrupted }
        if !isReached { throw ExitCode(ExitStatus.findings.rawValue) }
    }
}

/// The goal of an eviction: a size or a share of the current size.
enum EvictionGoal: ExpressibleByArgument, Equatable {
    case bytes(Int64)
    case share(Double)

    init?(argument: String) {
        if argument.hasSuffix("%") {
            guard let percent = Double(argument.dropLast()), (0...100).contains(percent) else {
                return nil
            }
            self = .share(percent / 100)
        } else {
            guard let size = ByteSize(argument: argument) else { return nil }
            self = .bytes(size.bytes)
        }
    }

    func bytes(of total: Int64) -> Int64 {
        switch self {
        case .bytes(let bytes): bytes
        case .share(let share): Int64((Double(total) * share).rounded(.down))
        }
    }
}

/// Evicts in steps until a goal is reached or nothing more can be evicted.
struct EvictionRun {
    private let goalBytes: Int64
    private let before: StoreStatistics
    private let after: StoreStatistics
    private var stepCount: Int64 = 0
    private var evictedCount: Int64 = 0
    private var targetCount: Int64 = 0
    private var queryCount: Int64 = 0
    private var freedBytes: Int64 = 0
    private var pinnedCount: Int64 = 0
    private var elapsedMicroseconds: Int64 = 0
    private var longestMicroseconds: Int64 = 0

    var isReached: Bool { after.totalBytes <= goalBytes }

    /// The number of rows of trees that were deleted; a row holds one node or several small ones.
    private var nodeRowCount: Int64 { max(0, before.nodes.rowCount - after.nodes.rowCount) }

    /// The contents that an eviction can remove, such as "12 documents and 3.0 KiB of trees".
    static func contents(_ statistics: StoreStatistics) -> String {
        let documents = NumberText.things(statistics.documentCount, "document")
        guard statistics.nodes.sizeBytes > 0 else { return documents }
        let trees = "\(ByteSize(statistics.nodes.sizeBytes).text) of trees"
        return statistics.documentCount > 0 ? "\(documents) and \(trees)" : trees
    }

    /// Runs the eviction with a progress bar.
    init(
        _ store: Store, goal: EvictionGoal, stepDocuments: Int, stepMicroseconds: Int
    ) throws(LarderError) {
        Interruption.catchSignals()
        before = try store.statistics()
        goalBytes = goal.bytes(of: before.totalBytes)
        var bar = ProgressBar("evict", unit: .bytes)
        defer { bar.finish() }
        var result: EvictionResult
        var isStuck = false
        repeat {
            result = try store.evict(
                toBytes: goalBytes, maxDocuments: Int64(stepDocuments),
                maxMicroseconds: Int64(stepMicroseconds))
            isStuck = result.examinedCount == 0 && result.freedBytes == 0
            stepCount += 1
            evictedCount += result.evictedCount
            targetCount += result.targetCount
            queryCount += result.trackedQueryCount
            freedBytes += result.freedBytes
            pinnedCount += result.pinnedCount
            elapsedMicroseconds += result.elapsedMicroseconds
            longestMicroseconds = max(longestMicroseconds, result.elapsedMicroseconds)
            bar.update(freedBytes, of: max(0, before.totalBytes - goalBytes))
        } while result.hasMore && !isStuck && !Interruption.isRequested
        after = try store.statistics()
    }

    private var evictedText: String {
        var parts: [String] = []
        if evictedCount > 0 || nodeRowCount == 0 {
            parts.append(NumberText.things(evictedCount, "document"))
        }
        if targetCount > 0 { parts.append(NumberText.things(targetCount, "target")) }
        if nodeRowCount > 0 {
            parts.append(
                "\(NumberText.things(nodeRowCount, "row")) of trees with "
                    + NumberText.things(queryCount, "tracked query", "tracked queries"))
        }
        return parts.joined(separator: ", ")
    }

    var lines: [String] {
        var lines = [
            "evicted \(evictedText)"
                + " in \(NumberText.things(stepCount, "step")), "
                + "\(NumberText.duration(seconds: Double(elapsedMicroseconds) / 1e6)), "
                + "the longest \(NumberText.duration(seconds: Double(longestMicroseconds) / 1e6))",
            "rows: \(ByteSize(before.totalBytes).text) before, "
                + "\(ByteSize(after.totalBytes).text) after, goal \(ByteSize(goalBytes).text)",
            "data file: \(ByteSize(after.fileBytes).text), "
                + "\(ByteSize(after.freeBytes).text) of it free for reuse",
        ]
        if pinnedCount > 0 {
            lines.append("kept \(NumberText.things(pinnedCount, "pinned document"))")
        }
        if !isReached {
            lines.append("the goal was not reached: the remaining data cannot be evicted")
        }
        return lines
    }

    var report: JSONReport {
        [
            "isReached": .boolean(isReached),
            "goalBytes": .integer(goalBytes),
            "totalBytesBefore": .integer(before.totalBytes),
            "totalBytesAfter": .integer(after.totalBytes),
            "evictedCount": .integer(evictedCount),
            "targetCount": .integer(targetCount),
            "nodeRowCount": .integer(nodeRowCount),
            "trackedQueryCount": .integer(queryCount),
            "freedBytes": .integer(freedBytes),
            "pinnedCount": .integer(pinnedCount),
            "stepCount": .integer(stepCount),
            "elapsedMicroseconds": .integer(elapsedMicroseconds),
            "longestStepMicroseconds": .integer(longestMicroseconds),
            "documentCount": .integer(after.documentCount),
            "fileBytes": .integer(after.fileBytes),
            "freeBytes": .integer(after.freeBytes),
        ]
    }
}
