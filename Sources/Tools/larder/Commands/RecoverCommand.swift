import ArgumentParser
import LarderCore
import LarderDocumentStore

/// `larder recover`: a new store of what can be read of a damaged one.
struct RecoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Makes a new store of what can be read of a damaged one.",
        discussion: """
            Reads the files page by page and record by record, without opening the store, which \
            stays as it is: pending writes first, then refused writes, documents, targets, trees. \
            Prints what was found, what is known to be lost, and what of the found was guessed: \
            it lay where nothing refers to it any more, so it may be an older version, or have been \
            removed. Exit status 1 if anything is lost or guessed.

            EXAMPLES
              larder recover /var/lib/app/store --into /var/lib/app/recovered
              larder recover --into recovered --json
            """)

    @Argument(
        help: ArgumentHelp("The damaged store's directory (default: --store).", valueName: "store"))
    var damaged: String?

    @Option(help: ArgumentHelp("The directory to create.", valueName: "dir"))
    var into: String

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        if into.isEmpty { throw ValidationError("--into needs a directory.") }
        if damaged?.isEmpty == true { throw ValidationError("The store's directory is empty.") }
        if damaged != nil && options.store != nil {
            throw ValidationError("Give the store's directory once.")
        }
    }

    func run() throws {
        let output = Output.standard()
        let start = System.monotonicNanoseconds()
        let report = try salvage()
        let seconds = Double(System.monotonicNanoseconds() - start) / 1e9
        if options.json {
            output.line(json(report, seconds: seconds))
        } else {
            print(report, seconds: seconds, to: output)
        }
        try output.flush()
        if !report.isComplete { throw ExitCode(ExitStatus.findings.rawValue) }
    }

    private var source: String { damaged ?? options.directory }

    private func salvage() throws -> SalvageReport {
        Interruption.catchSignals()
        var bar = ProgressBar("recover", unit: .bytes)
        defer { bar.finish() }
        do throws(LarderError) {
            return try Store.salvage(directory: source, into: into) { progress in
                bar.update(progress.done, of: progress.total ?? 0)
                return Interruption.isRequested ? .stop : .continue
            }
        } catch {
            switch error.condition {
            case .noStore:
                throw ToolError(
                    .noInput, "there is no store at '\(source)'",
                    hint: "name the directory of the damaged store")
            case .exists:
                throw ToolError(
                    .cannotCreate, "cannot recover into '\(into)': \(error.message)",
                    hint: "name a missing or empty directory")
            default:
                throw ToolError(error, about: "store '\(source)'")
            }
        }
    }

    // MARK: Report

    private func kinds(
        _ report: SalvageReport
    ) -> [(title: String, name: String, count: SalvageReport.Count)] {
        [
            ("pending writes", "pendingWrites", report.pendingWrites),
            ("pending writes of trees", "treeWrites", report.treeWrites),
            ("refused writes", "refusedWrites", report.refusedWrites),
            ("documents", "documents", report.documents),
            ("overlays", "overlays", report.overlays),
            ("targets", "targets", report.targets),
            ("rows of trees", "nodes", report.nodes),
            ("tracked queries", "trackedQueries", report.trackedQueries),
            ("bundles, queries, values", "values", report.values),
        ]
    }

    private func print(_ report: SalvageReport, seconds: Double, to output: Output) {
        var table = TextTable([
            ("", .left), ("found", .right), ("lost", .right), ("guessed", .right),
        ])
        for kind in kinds(report) {
            table.add(
                kind.title, NumberText.count(kind.count.found), NumberText.count(kind.count.lost),
                NumberText.count(kind.count.guessed))
        }
        for line in table.lines { output.line(line) }
        output.line()
        output.line(
            NumberText.things(report.damagedPageCount, "damaged page") + " of "
                + NumberText.count(report.pageCount) + ", "
                + NumberText.things(
                    report.damagedCommitCount, "lost commit"))
        if report.settledCount > 0 {
            output.line(
                NumberText.things(
                    report.settledCount, "acknowledged write in old pages",
                    "acknowledged writes in old pages") + " left out")
        }
        output.line(
            "recovered commit \(report.commitNumber) into \(into) in "
                + NumberText.duration(seconds: seconds))
    }

    private func json(_ report: SalvageReport, seconds: Double) -> JSONReport {
        let counts: [(String, JSONReport)] = kinds(report).map { kind in
            (
                kind.name,
                [
                    "found": .integer(kind.count.found), "lost": .integer(kind.count.lost),
                    "guessed": .integer(kind.count.guessed),
                ]
            )
        }
        return .object(
            counts + [
                ("commitNumber", .integer(Int64(clamping: report.commitNumber))),
                ("pageCount", .integer(report.pageCount)),
                ("damagedPageCount", .integer(report.damagedPageCount)),
                ("damagedCommitCount", .integer(report.damagedCommitCount)),
                ("settledCount", .integer(report.settledCount)),
                ("target", .string(into)),
                ("seconds", .rounded(seconds)),
            ])
    }
}
