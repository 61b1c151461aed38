import BenchmarkMeasuring

/// A row of the report: measurements and limit.
struct Row: Encodable {
    /// A measurement of the row.
    struct Line: Encodable {
        let label: String
        let value: Summary
        let unit: String
    }

    /// The value reached, compared with a limit.
    struct Verdict: Encodable {
        enum Direction: String, Encodable {
            case atLeast = "at least"
            case atMost = "at most"
        }

        let reached: Double
        let direction: Direction
        let limit: Double
        let unit: String
        /// The value by processor time, if measured.
        var byProcessor: Double?

        var isReached: Bool {
            direction == .atLeast ? reached >= limit : reached <= limit
        }
    }

    let id: String
    let title: String
    var lines: [Line] = []
    /// Nil for a row without a limit or without measurements.
    var verdict: Verdict?
    /// A remark about the row.
    var note: String?
}

/// The rows so far.
final class Report {
    private(set) var rows: [Row] = []

    func add(_ row: Row) {
        rows.append(row)
        print("\n    \(row.title)")
        for line in row.lines {
            let range =
                line.value.least == line.value.most
                ? "" : "   (\(Number(line.value.least)) .. \(Number(line.value.most)))"
            print(
                "        " + line.label.padded(44) + "\(Number(line.value.median))".leftPadded(10)
                    + " \(line.unit)\(range)")
        }
        if let note = row.note { print("        \(note)") }
        flushOutput()
    }

    /// Prints every limit with the value reached.
    ///
    /// - Returns: the number of missed limits.
    func printSummary() -> Int {
        print("\nLimits and values (medians of the rounds; in brackets by processor time)\n")
        var missed = 0
        for row in rows {
            guard let verdict = row.verdict else { continue }
            if !verdict.isReached { missed += 1 }
            let busy = verdict.byProcessor.map { "(\(Number($0)))" } ?? ""
            print(
                "    " + row.title.padded(66) + "\(Number(verdict.reached))".leftPadded(9) + " "
                    + busy.padded(9) + "\(verdict.direction.rawValue) \(Number(verdict.limit)) "
                    + "\(verdict.unit): " + (verdict.isReached ? "reached" : "MISSED"))
        }
        let limits = rows.count { $0.verdict != nil }
        printTally(reached: limits - missed, missed: missed)
        return missed
    }
}
