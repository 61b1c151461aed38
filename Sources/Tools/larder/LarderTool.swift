import ArgumentParser
import LarderCore
import LarderModel

#if !Tools
    #error("this program needs the trait Tools of the package larder")
#endif

/// The command-line tool `larder`.
@main
struct LarderTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "larder",
        abstract:
            "Imports, queries, changes, watches and maintains a store of documents or of a tree.",
        discussion: """
            EXAMPLES
              larder import cities.ndjson --collection cities --id id
              larder ls
              larder query cities --where 'population > 1000000' --limit 10 --explain
              larder update cities/SF population=870000
              larder watch cities
              larder stat --json
              larder evict 16MiB
              larder check && larder copy /backup/larder
              larder rtdb query scores --order-by-value --limit-to-last 4

            The store is a directory: --store DIR, else the environment's LARDER_STORE, else \
            \(StoreOptions.defaultDirectory) here. With --json every command prints one JSON \
            value, or one a line for documents. Commands that only read work while another process \
            writes; one process at a time may write.

            EXIT STATUS
            \(ExitStatus.table)
            """,
        version: LarderVersion.text,
        subcommands: [
            ImportCommand.self, ExportCommand.self, ListCommand.self, GetCommand.self,
            StatCommand.self, EvictCommand.self, TrainCommand.self, CheckCommand.self,
            CopyCommand.self, CompactCommand.self, RecoverCommand.self, QueryCommand.self,
            CountCommand.self,
            SumCommand.self, AverageCommand.self, MinimumCommand.self, MaximumCommand.self,
            SetCommand.self, UpdateCommand.self, DeleteCommand.self, PendingCommand.self,
            DeadLettersCommand.self, BundleCommand.self, TargetCommand.self, IndexCommand.self,
            WatchCommand.self, RealtimeCommand.self,
        ])

    static let _errorPrefix = "larder: error: "

    // On the main thread, whose blocking calls signals interrupt.
    @MainActor
    static func main() async {
        let arguments = OrderArgument.joined(
            storeOptionsLast(Array(CommandLine.arguments.dropFirst())))
        do {
            if let error = CommandNames.unknown(arguments) { throw error }
            var command = try parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            end(with: error)
        }
    }

    /// Prints an error and exits.
    private static func end(with error: any Error) -> Never {
        switch error {
        case is QuietExit:
            exit(withError: ExitCode(ExitStatus.success.rawValue))
        case let error as ToolError:
            Messages.line(_errorPrefix + error.description)
            exit(withError: ExitCode(error.status.rawValue))
        case let error as LarderError:
            let error = ToolError(error, about: "")
            Messages.line(_errorPrefix + error.description)
            exit(withError: ExitCode(error.status.rawValue))
        default:
            // Help, version and usage errors (64) are handled by the parser.
            exit(withError: error)
        }
    }

    /// Moves `--store DIR` and `--json` that precede the command's name after it.
    static func storeOptionsLast(_ arguments: [String]) -> [String] {
        var moved: [String] = []
        var rest = arguments[...]
        while let first = rest.first {
            if first == "--store" || first == "-s", rest.count >= 2 {
                moved += rest.prefix(2)
                rest = rest.dropFirst(2)
            } else if first.hasPrefix("--store=") || first == "--json" {
                moved.append(first)
                rest = rest.dropFirst()
            } else {
                break
            }
        }
        guard !moved.isEmpty, let command = rest.first, !command.hasPrefix("-") else {
            return arguments
        }
        // For a group of commands, the options belong after its subcommand.
        let groups = [
            BundleCommand.configuration, TargetCommand.configuration,
            RealtimeCommand.configuration,
        ]
        let isGroup = groups.contains { $0.commandName == command }
        let names = rest.prefix(isGroup ? 2 : 1)
        guard names.allSatisfy({ !$0.hasPrefix("-") }) else { return arguments }
        return names + moved + rest.dropFirst(names.count)
    }
}
