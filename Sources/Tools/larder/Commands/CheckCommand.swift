import ArgumentParser
import LarderDocumentStore
import LarderModel

/// `larder check`: verifies every row.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Verifies all rows and the invariants between tables; changes nothing.",
        discussion: """
            Prints one line per problem: table, key, description. Exit status 1 if there are \
            any. --pages reads the files without opening the store, which always ends with an \
            answer; 'larder recover' makes a new store of a damaged one.

            EXAMPLES
              larder check
              larder check --pages
              larder check --json | jq .problemCount
            """)

    @Option(help: ArgumentHelp("The maximum number of problems to list.", valueName: "count"))
    var maxProblems = 1000

    @Flag(help: "Verify the pages of the files and the rows' checksums instead of the tables.")
    var pages = false

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        if maxProblems < 0 { throw ValidationError("--max-problems must not be negative.") }
    }

    func run() throws {
        if pages {
            try PagesCheck(options: options, maxProblems: maxProblems).run()
        } else {
            try checkTables()
        }
    }

    private func checkTables() throws {
        let output = Output.standard()
        let start = System.monotonicNanoseconds()
        var listed: [CheckProblem] = []
        let report = try options.describingErrors {
            Interruption.catchSignals()
            let store = try options.open(.readOnly)
            var bar = ProgressBar("check", unit: .count("rows"))
            defer { bar.finish() }
            let report = try store.read { txn throws(LarderError) in
                try txn.check(
                    onProblem: { problem in
                        if listed.count < maxProblems { listed.append(problem) }
                        return Interruption.isRequested ? .stop : .continue
                    },
                    progress: { progress in
                        bar.update(progress.done, of: progress.total ?? 0)
                        return Interruption.isRequested ? .stop : .continue
                    })
            }
            try store.close()
            return report
        }
        let seconds = Double(System.monotonicNanoseconds() - start) / 1e9
        if options.json {
            output.line(json(report, listed, seconds: seconds))
        } else {
            print(report, listed, seconds: seconds, to: output)
        }
        try output.flush()
        if report.problemCount > 0 { throw ExitCode(ExitStatus.findings.rawValue) }
    }

    private func print(
        _ report: CheckReport, _ listed: [CheckProblem], seconds: Double, to output: Output
    ) {
        for problem in listed {
            output.line("\(problem.table)  \(Self.text(problem.key))  \(problem.message)")
        }
        if report.problemCount > listed.count {
            let more = report.problemCount - Int64(listed.count)
            output.line("and \(NumberText.things(more, "more problem", "more problems"))")
        }
        let rows = NumberText.things(report.rowCount, "row")
        let looked =
            "\(rows), \(Self.contents(of: report)) in \(NumberText.duration(seconds: seconds))"
        output.line(
            report.problemCount == 0
                ? "no problems: \(looked)"
                : "\(NumberText.things(report.problemCount, "problem")): \(looked)")
    }

    /// The rows by kind; those of trees if there are any.
    private static func contents(of report: CheckReport) -> String {
        let documents =
            NumberText.things(report.documentCount, "document") + ", "
            + NumberText.things(report.indexEntryCount, "index entry", "index entries")
        let trees =
            NumberText.things(report.nodeRowCount, "row of trees", "rows of trees") + ", "
            + NumberText.things(report.trackedQueryCount, "tracked query", "tracked queries") + ", "
            + NumberText.things(report.nodeWriteCount, "write to trees", "writes to trees")
        let hasTrees =
            report.nodeRowCount > 0 || report.trackedQueryCount > 0 || report.nodeWriteCount > 0
        return hasTrees ? "\(documents), \(trees)" : documents
    }

    private func json(
        _ report: CheckReport, _ listed: [CheckProblem], seconds: Double
    ) -> JSONReport {
        [
            "problemCount": .integer(report.problemCount),
            "rowCount": .integer(report.rowCount),
            "documentCount": .integer(report.documentCount),
            "indexEntryCount": .integer(report.indexEntryCount),
            "nodeRowCount": .integer(report.nodeRowCount),
            "trackedQueryCount": .integer(report.trackedQueryCount),
            "nodeWriteCount": .integer(report.nodeWriteCount),
            "seconds": .rounded(seconds),
            "problems": .array(
                listed.map { problem in
                    [
                        "table": .string(problem.table),
                        "key": .string(Self.text(problem.key)),
                        "message": .string(problem.message),
                    ]
                }),
        ]
    }

    /// A key of a table as text, or in hexadecimal if it is not printable.
    static func text(_ key: [UInt8]) -> String {
        if !key.isEmpty, let text = String(validating: key, as: UTF8.self),
            text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        {
            return text
        }
        return "0x" + key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
