import ArgumentParser
import LarderDocumentStore
import LarderModel

/// `larder copy`: a backup while the store is in use.
struct CopyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copies the store, which may be in use.",
        discussion: """
            The copy is a consistent snapshot and on disk when the command ends. The target \
            directory must be missing or empty.

            EXAMPLES
              larder copy /backup/larder-2026-01-31
            """)

    @Argument(help: ArgumentHelp("The directory to create.", valueName: "target"))
    var target: String

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        if target.isEmpty { throw ValidationError("The target directory must not be empty.") }
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
            Copies row by row in key order, so that pages are full. The data file itself never \
            shrinks: to reduce the size of the store, compact it, stop the processes that use \
            it, and replace it with the copy.

            EXAMPLES
              larder compact smaller && rm -r larder-store && mv smaller larder-store
            """)

    @Argument(help: ArgumentHelp("The directory to create.", valueName: "target"))
    var target: String

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        if target.isEmpty { throw ValidationError("The target directory must not be empty.") }
    }

    func run() throws {
        try StoreCopy(options: options, target: target, isCompact: true).run()
    }
}

/// The common part of `copy` and `compact`.
struct StoreCopy {
    let options: StoreOptions
    let target: String
    let isCompact: Bool

    /// Copies the store and prints both sizes.
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
                        hint: "name a missing or empty directory")
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
