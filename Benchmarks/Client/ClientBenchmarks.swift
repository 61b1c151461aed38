import Foundation
import Measuring

/// Measures the clients of both databases in comparison with their peers, and checks their limits.
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
        + SyncOperations.names + TreeOperations.names
        + [TreeWriteOperation.name] + SyncTreeOperations.names

    private static func measure(_ options: Options) async throws -> Int {
        for name in options.operations where !operations.contains(name) {
            throw Options.Problem(sentence: "There is no operation \(name); see --list.")
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
            try await TreeOperations(run: run, count: count)()
        }
        try await ListenerOperations(run: run)()
        try SyncOperations(run: run)()
        try await TreeWriteOperation(run: run)()
        try SyncTreeOperations(run: run)()
        let missed = run.report.printSummary()
        if let path = options.json { try run.report.writeJSON(to: path, machine: machine) }
        return missed
    }
}

/// The options of the program.
struct Options {
    var sizes = [10_000, 100_000]
    var rounds = 5
    /// Fewer point reads, writes, pending writes and listeners per round.
    var isQuick = false
    var operations: Set<String> = []
    var systems = Set(System.allCases)
    var json: String?
    var isStrict = false
    /// The program that acknowledges pending writes, which the public API cannot do.
    var acknowledgement: String?
    /// The program that measures the engine between a store and a backend, for the same reason.
    var sync: String?
    /// The same of the Realtime Database's sync tree and hashes.
    var realtimeSync: String?
    var parent = FileManager.default.temporaryDirectory.path

    static let help = """
        ClientBenchmarks: Larder's clients beside raw LMDB and SQLite through GRDB

          --n LIST                numbers of documents, messages and scores
                                  (default 10000,100000)
          --rounds COUNT          rounds of each operation, systems in turn (default 5)
          --quick                 --n 500 --rounds 1, few writes and listeners
          --only LIST             operations by name, see --list
          --system LIST           larder, floor, grdb (default: all)
          --acknowledgement FILE  the program that measures acknowledging pending writes
          --sync FILE             the program that measures the engine and a backend
          --realtime-sync FILE    the program that measures the Realtime Database's sync tree
          --dir DIRECTORY         where the stores are made (default: the temporary directory)
          --json FILE             the figures for programs
          --strict                exit with 2 when a limit was missed
          --list                  the operations
        """

    /// An error in the arguments.
    struct Problem: Error { let sentence: String }

    init(_ arguments: [String]) throws(Problem) {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--n": sizes = try Self.numbers(try Self.value(of: option, &rest))
            case "--rounds":
                rounds = try Self.numbers(try Self.value(of: option, &rest)).first ?? rounds
            case "--quick":
                sizes = [500]
                rounds = 1
                isQuick = true
            case "--only":
                operations = Set(Self.list(try Self.value(of: option, &rest)))
            case "--system":
                systems = try Self.systems(try Self.value(of: option, &rest))
            case "--acknowledgement": acknowledgement = try Self.value(of: option, &rest)
            case "--sync": sync = try Self.value(of: option, &rest)
            case "--realtime-sync": realtimeSync = try Self.value(of: option, &rest)
            case "--dir": parent = try Self.value(of: option, &rest)
            case "--json": json = try Self.value(of: option, &rest)
            case "--strict": isStrict = true
            default: throw Problem(sentence: "Unknown option \(option).\n\n\(Self.help)")
            }
        }
    }

    /// Whether an operation was requested.
    func includes(_ operation: String) -> Bool {
        operations.isEmpty || operations.contains(operation)
    }

    private static func value(
        of option: String, _ rest: inout ArraySlice<String>
    ) throws(Problem) -> String {
        guard let value = rest.popFirst() else {
            throw Problem(sentence: "\(option) requires a value.")
        }
        return value
    }

    private static func list(_ text: String) -> [String] {
        text.split(separator: ",").map(String.init)
    }

    private static func numbers(_ text: String) throws(Problem) -> [Int] {
        let numbers = list(text).compactMap { Int($0) }.filter { $0 > 0 }
        guard !numbers.isEmpty, numbers.count == list(text).count else {
            throw Problem(sentence: "\(text) is not a list of positive numbers.")
        }
        return numbers
    }

    private static func systems(_ text: String) throws(Problem) -> Set<System> {
        var systems: Set<System> = []
        for name in list(text) {
            guard let system = System(rawValue: name) else {
                throw Problem(sentence: "Unknown system \(name): use larder, floor or grdb.")
            }
            systems.insert(system)
        }
        // The reference measurements are Larder's own.
        if systems.contains(.larder) { systems.insert(.reference) }
        return systems
    }
}

/// The environment of the measurements.
extension Machine {
    static func facts(_ options: Options) -> [(name: String, text: String)] {
        [
            ("processor", "\(processor), \(processorCount) in use"),
            ("system", ProcessInfo.processInfo.operatingSystemVersionString),
            ("load at the start", load),
            ("floor", "raw LMDB, a hand-written C loop, records decoded whole"),
            ("GRDB", "JSON in SQLite through GRDB, JSONDecoder into a struct"),
            ("trees, floor", "raw LMDB, a row a leaf, its path as key"),
            ("trees, GRDB", "a row a message or score, its path as key; JSONSerialization"),
            ("rounds", "\(options.rounds), systems in turn"),
        ]
    }
}
