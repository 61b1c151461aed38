import LarderModel
import LarderStorage

/// Steps of eviction until a goal is reached or nothing more can go.
struct EvictionRun {
    private let goalBytes: Int64
    private let before: StoreStatistics
    private let after: StoreStatistics
    private var stepCount: Int64 = 0
    private var evictedCount: Int64 = 0
    private var targetCount: Int64 = 0
    private var freedBytes: Int64 = 0
    private var pinnedCount: Int64 = 0
    private var elapsedMicroseconds: Int64 = 0
    private var longestMicroseconds: Int64 = 0

    /// Whether the goal was reached.
    var isReached: Bool { after.totalBytes <= goalBytes }

    /// Evicts, with a progress bar in bytes.
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
            freedBytes += result.freedBytes
            pinnedCount += result.pinnedCount
            elapsedMicroseconds += result.elapsedMicroseconds
            longestMicroseconds = max(longestMicroseconds, result.elapsedMicroseconds)
            bar.update(freedBytes, of: max(0, before.totalBytes - goalBytes))
        } while result.hasMore && !isStuck && !Interruption.isRequested
        after = try store.statistics()
    }

    /// The run for people.
    var lines: [String] {
        var lines = [
            "evicted \(NumberText.things(evictedCount, "document"))"
                + (targetCount > 0 ? " and \(NumberText.things(targetCount, "target"))" : "")
                + " in \(NumberText.things(stepCount, "step")), "
                + "\(NumberText.duration(seconds: Double(elapsedMicroseconds) / 1e6)), "
                + "the longest \(NumberText.duration(seconds: Double(longestMicroseconds) / 1e6))",
            "rows: \(ByteSize(before.totalBytes).text) before, "
                + "\(ByteSize(after.totalBytes).text) after, goal \(ByteSize(goalBytes).text)",
            "data file: \(ByteSize(after.fileBytes).text), "
                + "\(ByteSize(after.freeBytes).text) of it free to be used again",
        ]
        if pinnedCount > 0 {
            lines.append("kept \(NumberText.things(pinnedCount, "pinned document"))")
        }
        if !isReached {
            lines.append("the goal was not reached: the rest must stay")
        }
        return lines
    }

    /// The run for programs.
    var report: JSONReport {
        [
            "isReached": .boolean(isReached),
            "goalBytes": .integer(goalBytes),
            "totalBytesBefore": .integer(before.totalBytes),
            "totalBytesAfter": .integer(after.totalBytes),
            "evictedCount": .integer(evictedCount),
            "targetCount": .integer(targetCount),
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
