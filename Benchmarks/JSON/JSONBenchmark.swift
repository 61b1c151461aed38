import Foundation
import LarderCore

/// Reads and writes JSON with LarderCore and with Foundation's `JSONSerialization`, alternating in
/// one process, and prints both rates and their ratio.
///
/// Two inputs: the documents of a file of NDJSON, each read by itself, and one nested object of
/// about 1 MiB. With `--check` the exit status is 1 where a ratio is below the limit.
@main
struct JSONBenchmark {
    private static let limit = 3.0

    static func main() throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        let checks = arguments.first == "--check"
        if checks { arguments.removeFirst() }
        var rounds = 15
        if arguments.first == "--rounds", arguments.count > 1 {
            rounds = Int(arguments[1]) ?? 0
            arguments.removeFirst(2)
        }
        guard arguments.count == 1, rounds > 0 else {
            print("JSONBenchmark [--check] [--rounds COUNT] FILE.ndjson")
            exit(64)
        }
        let file = try Data(contentsOf: URL(fileURLWithPath: arguments[0]))
        let documents = file.split(separator: UInt8(ascii: "\n")).map { Array($0) }
        var nested: [UInt8] = []
        JSONWriter.append(tree(depth: 4, seed: 1), to: &nested)

        print("median of \(rounds) rounds, MB/s    LarderCore  JSONSerialization  ratio")
        var isMet = true
        for (name, texts) in [("documents", documents), ("1 MiB object", [nested])] {
            let reading = try reading(texts, rounds)
            let writing = try writing(texts, rounds)
            for (verb, rates) in [("read", reading), ("write", writing)] {
                let ratio = rates.ours / rates.foundation
                isMet = isMet && ratio >= limit
                print(
                    "\(verb) \(name)".padding(toLength: 33, withPad: " ", startingAt: 0)
                        + String(
                            format: "%11.0f %18.0f %6.1f", rates.ours, rates.foundation, ratio))
            }
        }
        if checks && !isMet {
            print("below the limit of \(limit)")
            exit(1)
        }
    }

    private typealias Rates = (ours: Double, foundation: Double)

    private static func reading(_ texts: [[UInt8]], _ rounds: Int) throws -> Rates {
        let data = texts.map { Data($0) }
        let size = texts.reduce(0) { $0 + $1.count }
        return try compare(bytes: size, rounds: rounds) {
            for text in texts { consume(try JSONValue(parsing: text)) }
        } foundation: {
            for text in data { consume(try JSONSerialization.jsonObject(with: text)) }
        }
    }

    private static func writing(_ texts: [[UInt8]], _ rounds: Int) throws -> Rates {
        let values = try texts.map { try JSONValue(parsing: $0) }
        let objects = try texts.map { try JSONSerialization.jsonObject(with: Data($0)) }
        let size = texts.reduce(0) { $0 + $1.count }
        return try compare(bytes: size, rounds: rounds) {
            for value in values {
                var bytes: [UInt8] = []
                JSONWriter.append(value, to: &bytes)
                consume(bytes)
            }
        } foundation: {
            for object in objects { consume(try JSONSerialization.data(withJSONObject: object)) }
        }
    }

    /// Runs both in turn; the medians in MB/s.
    private static func compare(
        bytes: Int, rounds: Int, ours: () throws -> Void, foundation: () throws -> Void
    ) throws -> Rates {
        var times: (ours: [Double], foundation: [Double]) = ([], [])
        for _ in 0..<rounds {
            times.ours.append(try seconds(ours))
            times.foundation.append(try seconds(foundation))
        }
        let megabytes = Double(bytes) / 1e6
        return (megabytes / median(times.ours), megabytes / median(times.foundation))
    }

    private static func seconds(_ body: () throws -> Void) rethrows -> Double {
        let duration = try ContinuousClock().measure(body)
        return Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
    }

    private static func median(_ numbers: [Double]) -> Double {
        numbers.sorted()[numbers.count / 2]
    }

    @inline(never)
    private static func consume<T>(_ value: T) {}

    /// An object of six to fifteen members on each level: numbers, texts, and deeper objects.
    private static func tree(depth: Int, seed: Int64) -> JSONValue {
        var members = [
            JSONMember("name", .string("a text of some length, entry \(seed)")),
            JSONMember("quoted", .string("\"é\" \(seed)\n")),
            JSONMember("createdAt", .integer(1_700_000_000_000 &+ seed)),
            JSONMember("score", .double(Double(seed % 100_000) / 64)),
            JSONMember("isOpen", .boolean(seed % 2 == 0)),
            JSONMember("nothing", .null),
        ]
        if depth > 0 {
            for child in 0..<9 as Range<Int64> {
                members.append(
                    JSONMember("-Nx\(child)", tree(depth: depth - 1, seed: seed * 9 + child)))
            }
        }
        return .object(members)
    }
}
