/// What became of the tests, counted and written down.
struct SpecReport {
    private(set) var passedCount = 0
    private(set) var skippedCount = 0
    /// A paragraph for each test that failed.
    private(set) var failures: [String] = []
    private var lines: [Line] = []

    fileprivate struct Line {
        let title: String
        var passedCount = 0
        var failedCount = 0
        var skipped: [String: Int] = [:]
    }

    /// Notes what became of a test.
    mutating func note(
        _ outcome: SpecOutcome, of test: SpecTest, in suite: String, on store: String
    ) {
        let title = "\(suite), \(store)"
        let position = lines.firstIndex { $0.title == title } ?? lines.count
        if position == lines.count { lines.append(Line(title: title)) }
        switch outcome {
        case .passed:
            passedCount += 1
            lines[position].passedCount += 1
        case .skipped(let reason):
            skippedCount += 1
            lines[position].skipped[reason, default: 0] += 1
        case .failed(let number, let step, let mismatches):
            lines[position].failedCount += 1
            failures.append(
                "\(test.name) (\(title)), step \(number): \(step.json)"
                    + mismatches.map { "\n  \($0)" }.joined())
        }
    }

    /// A line for each suite and kind of store, the failures, and the sum in the last line.
    var text: String {
        var text = lines.map(\.text)
        text += failures.map { "FAILED \($0)" }
        text.append(
            "\(passedCount) passed, \(failures.count) failed, \(skippedCount) skipped")
        return text.joined(separator: "\n")
    }
}

extension SpecReport.Line {
    fileprivate var text: String {
        let reasons = skipped.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        let why = reasons.isEmpty ? "" : " (" + reasons.joined(separator: "; ") + ")"
        let skippedCount = skipped.values.reduce(0, +)
        return "\(title): \(passedCount) passed, \(failedCount) failed, "
            + "\(skippedCount) skipped\(why)"
    }
}
