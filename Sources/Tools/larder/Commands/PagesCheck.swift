import ArgumentParser
import LarderCore
import LarderDocumentStore

/// `larder check --pages`: verifies the files page by page.
struct PagesCheck {
    let options: StoreOptions
    let maxProblems: Int

    /// Checks the pages and prints the problems.
    func run() throws {
        let output = Output.standard()
        let start = System.monotonicNanoseconds()
        var listed: [PageProblem] = []
        let report = try options.opening(createsStore: false) { () throws(LarderError) in
            Interruption.catchSignals()
            var bar = ProgressBar("check", unit: .bytes)
            defer { bar.finish() }
            return try Store.checkPages(
                directory: options.directory,
                onProblem: { problem in
                    if listed.count < maxProblems { listed.append(problem) }
                    return Interruption.isRequested ? .stop : .continue
                },
                progress: { progress in
                    bar.update(progress.done, of: progress.total ?? 0)
                    return Interruption.isRequested ? .stop : .continue
                })
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
        _ report: PagesReport, _ listed: [PageProblem], seconds: Double, to output: Output
    ) {
        for problem in listed {
            let page = problem.page.map { "page \($0)" } ?? "-"
            output.line("\(page)  \(problem.table ?? "-")  \(problem.message)")
        }
        if report.problemCount > listed.count {
            let more = report.problemCount - Int64(listed.count)
            output.line("and \(NumberText.things(more, "more problem", "more problems"))")
        }
        let looked =
            NumberText.things(report.pageCount, "page") + ", "
            + "\(NumberText.count(report.verifiedPageCount)) in use, "
            + "\(NumberText.count(report.freePageCount)) free, "
            + NumberText.things(report.rowCount, "row") + ", "
            + NumberText.things(report.loggedCommitCount, "commit in the log", "commits in the log")
            + " in \(NumberText.duration(seconds: seconds))"
        output.line(
            report.problemCount == 0
                ? "no problems: \(looked)"
                : "\(NumberText.things(report.problemCount, "problem")): \(looked)")
        if report.problemCount > 0 {
            output.line("'larder recover --into DIR' makes a new store of what can be read")
        }
    }

    private func json(
        _ report: PagesReport, _ listed: [PageProblem], seconds: Double
    ) -> JSONReport {
        [
            "problemCount": .integer(report.problemCount),
            "pageCount": .integer(report.pageCount),
            "verifiedPageCount": .integer(report.verifiedPageCount),
            "freePageCount": .integer(report.freePageCount),
            "rowCount": .integer(report.rowCount),
            "loggedCommitCount": .integer(report.loggedCommitCount),
            "commitNumber": .integer(Int64(clamping: report.commitNumber)),
            "seconds": .rounded(seconds),
            "problems": .array(
                listed.map { problem in
                    [
                        "page": problem.page.map { .integer(Int64(clamping: $0)) } ?? .null,
                        "table": problem.table.map { .string($0) } ?? .null,
                        "message": .string(problem.message),
                    ]
                }),
        ]
    }
}
