import ArgumentParser
import LarderModel
import LarderStorage

/// `larder evict`: removes the least recently used documents.
struct EvictCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Removes the least recently used documents until a goal is reached.",
        discussion: """
            The goal is what all rows together may occupy ('larder stat', total): a size, or a \
            share of what they occupy now. Documents with pending writes and pinned ones stay. \
            It works in small steps, so that other writers wait for milliseconds at most. The \
            data file keeps its size and uses the freed pages again; 'larder compact' makes a \
            smaller one. Exit status 1: the goal was not reached, because the rest must stay.

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

    @Option(help: ArgumentHelp("Documents to look at in a step.", valueName: "count"))
    var stepDocuments = 500

    @Option(help: ArgumentHelp("Microseconds of a step.", valueName: "us"))
    var stepMicroseconds = 2000

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        if stepDocuments < 1 || stepMicroseconds < 1 {
            throw ValidationError("--step-documents and --step-microseconds are above 0.")
        }
    }

    func run() throws {
        let pinned = try pin.map(PathArgument.document)
        let output = Output.standard()
        let isReached = try options.describingErrors {
            let store = try options.open(.readWrite)
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

/// What is left after an eviction: bytes, or a share of what was there.
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

    /// The goal in bytes.
    func bytes(of total: Int64) -> Int64 {
        switch self {
        case .bytes(let bytes): bytes
        case .share(let share): Int64((Double(total) * share).rounded(.down))
        }
    }
}
