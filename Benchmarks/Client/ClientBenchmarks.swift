import Foundation

/// Measures the document client beside its peers, and judges it by its limits.
@main
struct ClientBenchmarks {
    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.contains("--help") { return print(Options.help) }
            if arguments.contains("--list") { return print(operations.joined(separator: "\n")) }
            let options = try Options(arguments)
            let missed = try await measure(options)
            if missed > 0, options.isStrict { exit(2) }
        } catch let problem as Options.Problem {
            print(problem.sentence)
            exit(64)
        } catch {
            print("ClientBenchmarks: \(error)")
            exit(1)
        }
    }

    private static let operations =
        ReadOperations.names + [OpenOperation.name] + WriteOperations.names
        + [ThreadOperations.name, ListenerOperations.name, AcknowledgementOperation.name]
        + SyncOperations.names

    private static func measure(_ options: Options) async throws -> Int {
        for name in options.operations where !operations.contains(name) {
            throw Options.Problem(sentence: "There is no operation \(name); --list shows them.")
        }
        let run = try Run(options)
        defer { run.removeDirectory() }
        let machine = Machine.facts(options)
        print("ClientBenchmarks\n")
        for fact in machine { print("    " + fact.name.padded(22) + fact.text) }
        for count in options.sizes {
            try await ReadOperations(run: run, count: count)()
            try await OpenOperation(run: run, count: count)()
            try await WriteOperations(run: run, count: count)()
            try await ThreadOperations(run: run, count: count)()
            try await AcknowledgementOperation(run: run)(count: count)
            try SyncOperations(run: run)(count: count)
        }
        try await ListenerOperations(run: run)()
        try SyncOperations(run: run)()
        let missed = run.report.printSummary()
        if let path = options.json { try run.report.writeJSON(to: path, machine: machine) }
        return missed
    }
}
