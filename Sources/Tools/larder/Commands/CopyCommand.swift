import ArgumentParser
import LarderModel
import LarderStorage

/// `larder copy`: a backup while others read and write.
struct CopyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copies the store while others read and write.",
        discussion: """
            The copy is one snapshot and on disk when the command ends. The target is a \
            directory that is missing or empty.

            EXAMPLES
              larder copy /backup/larder-2026-01-31
            """)

    @Argument(help: ArgumentHelp("The directory to make.", valueName: "target"))
    var target: String

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        if target.isEmpty { throw ValidationError("the target is a directory.") }
    }

    func run() throws {
        try StoreCopy(options: options, target: target, isCompact: false).run()
    }
}

/// `larder compact`: a copy without free pages.
struct CompactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Copies the store without its free space.",
        discussion: """
            Row by row in key order, so that pages are full. The data file itself never \
            shrinks: to make the store smaller, compact it, end the processes that use it and \
            put the copy in its place.

            EXAMPLES
              larder compact smaller && rm -r larder-store && mv smaller larder-store
            """)

    @Argument(help: ArgumentHelp("The directory to make.", valueName: "target"))
    var target: String

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        if target.isEmpty { throw ValidationError("the target is a directory.") }
    }

    func run() throws {
        try StoreCopy(options: options, target: target, isCompact: true).run()
    }
}

/// What both kinds of copy do.
struct StoreCopy {
    /// Which store, and how to print.
    let options: StoreOptions
    /// The directory to make.
    let target: String
    /// Whether free space is left out.
    let isCompact: Bool

    /// Copies and prints both sizes.
    func run() throws {
        let output = Output.standard()
        let start = System.monotonicNanoseconds()
        let before = try options.describingErrors {
            Interruption.catchSignals()
            let store = try options.open(.readOnly)
            let before = try store.statistics().fileBytes
            var bar = ProgressBar(isCompact ? "compact" : "copy", unit: .bytes)
            defer { bar.finish() }
            let progress: ProgressHandler = { progress in
                bar.update(progress.done, of: progress.total ?? 0)
                return Interruption.isRequested ? .stop : .continue
            }
            do throws(LarderError) {
                if isCompact {
                    try store.compact(to: target, progress: progress)
                } else {
                    try store.copy(to: target, progress: progress)
                }
            } catch {
                if [.exists, .permission, .noStore, .foreignFile].contains(error.condition) {
                    throw ToolError(
                        error.condition == .permission ? .noPermission : .cannotCreate,
                        "cannot copy to '\(target)': \(error.message)",
                        hint: "name a directory that is missing or empty")
                }
                throw error
            }
            try store.close()
            return before
        }
        let after = System.directoryBytes(target)
        let seconds = Double(System.monotonicNanoseconds() - start) / 1e9
        if options.json {
            output.line([
                "target": .string(target),
                "fileBytesBefore": .integer(before),
                "fileBytesAfter": .integer(after),
                "seconds": .rounded(seconds),
            ])
        } else {
            output.line(
                "\(isCompact ? "compacted" : "copied") to \(target): "
                    + "\(ByteSize(before).text) before, \(ByteSize(after).text) after, in "
                    + NumberText.duration(seconds: seconds))
        }
        try output.flush()
    }
}
