import Foundation

/// What the program was asked for.
struct Options {
    var sizes = [10_000, 100_000]
    var rounds = 5
    /// Point reads a round, writes, pending writes and listeners: a quick run takes fewer.
    var isQuick = false
    var operations: Set<String> = []
    var systems = Set(System.allCases)
    var json: String?
    var isStrict = false
    /// The program that acknowledges pending writes, which public API does not reach.
    var acknowledgement: String?
    /// The program that measures the engine between a store and a backend, for the same reason.
    var sync: String?
    var parent = FileManager.default.temporaryDirectory.path

    static let help = """
        ClientBenchmarks: Larder's document client beside raw LMDB and SQLite through GRDB

          --n LIST                numbers of documents (default 10000,100000)
          --rounds COUNT          rounds of each operation, systems in turn (default 5)
          --quick                 --n 2000 --rounds 1, few writes and listeners
          --only LIST             operations by name, see --list
          --system LIST           larder, floor, grdb (default: all)
          --acknowledgement FILE  the program that measures acknowledging pending writes
          --sync FILE             the program that measures the engine and a backend
          --dir DIRECTORY         where the stores are made (default: the temporary directory)
          --json FILE             the figures for programs
          --strict                exit with 2 when a limit was missed
          --list                  the operations
        """

    /// A sentence about what is wrong with the arguments.
    struct Problem: Error { let sentence: String }

    init(_ arguments: [String]) throws(Problem) {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--n": sizes = try Self.numbers(try Self.value(of: option, &rest))
            case "--rounds":
                rounds = try Self.numbers(try Self.value(of: option, &rest)).first ?? rounds
            case "--quick":
                sizes = [2_000]
                rounds = 1
                isQuick = true
            case "--only":
                operations = Set(Self.list(try Self.value(of: option, &rest)))
            case "--system":
                systems = try Self.systems(try Self.value(of: option, &rest))
            case "--acknowledgement": acknowledgement = try Self.value(of: option, &rest)
            case "--sync": sync = try Self.value(of: option, &rest)
            case "--dir": parent = try Self.value(of: option, &rest)
            case "--json": json = try Self.value(of: option, &rest)
            case "--strict": isStrict = true
            default: throw Problem(sentence: "There is no option \(option).\n\n\(Self.help)")
            }
        }
    }

    /// Whether an operation was asked for.
    func includes(_ operation: String) -> Bool {
        operations.isEmpty || operations.contains(operation)
    }

    private static func value(
        of option: String, _ rest: inout ArraySlice<String>
    ) throws(Problem) -> String {
        guard let value = rest.popFirst() else {
            throw Problem(sentence: "\(option) needs a value.")
        }
        return value
    }

    private static func list(_ text: String) -> [String] {
        text.split(separator: ",").map(String.init)
    }

    private static func numbers(_ text: String) throws(Problem) -> [Int] {
        let numbers = list(text).compactMap { Int($0) }.filter { $0 > 0 }
        guard !numbers.isEmpty, numbers.count == list(text).count else {
            throw Problem(sentence: "\(text) is not a list of numbers above zero.")
        }
        return numbers
    }

    private static func systems(_ text: String) throws(Problem) -> Set<System> {
        var systems: Set<System> = []
        for name in list(text) {
            guard let system = System(rawValue: name) else {
                throw Problem(sentence: "There is no system \(name): larder, floor or grdb.")
            }
            systems.insert(system)
        }
        // What Larder's other figures are compared with is Larder's, too.
        if systems.contains(.larder) { systems.insert(.reference) }
        return systems
    }
}
