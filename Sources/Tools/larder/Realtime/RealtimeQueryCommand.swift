import ArgumentParser
import LarderCore
import LarderRealtime

/// `larder rtdb query`: children of a location in an order.
struct RealtimeQueryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Prints the children of a location that match a query, in its order.",
        discussion: """
            The order is one of --order-by CHILD, --order-by-key, --order-by-value and \
            --order-by-priority. Bounds are JSON, or words as strings; with --order-by-key they \
            are keys. Pending writes are applied. If the cache lacks part of the result, a \
            message on standard error says so.

            With --json, prints one object per line: key and value.

            EXAMPLES
              larder rtdb query scores --order-by-value --limit-to-last 4
              larder rtdb query dinosaurs --order-by dimensions/height --end-at 3
              larder rtdb query users --order-by-key --start-after ada --limit-to-first 100
              larder rtdb query dinosaurs --order-by order --equal-to ornithischia --json
            """)

    @OptionGroup var query: RealtimeQueryOptions

    @OptionGroup var options: RealtimeOptions

    func run() async throws {
        let output = Output.standard()
        try await options.withDatabase(about: query.subject) { session in
            do {
                print(try await query.query(in: session.database).getData(), to: output)
            } catch let error as DatabaseError where error.kind == .unavailable {
                Messages.line("larder: nothing of '\(query.path)' is in the cache")
                throw ExitCode(ExitStatus.findings.rawValue)
            }
        }
        try output.flush()
    }

    private func print(_ snapshot: DataSnapshot, to output: Output) {
        if options.json {
            for child in snapshot.childSnapshots {
                output.line(["key": .string(child.key), "value": .snapshot(child)])
            }
        } else if snapshot.hasChildren() {
            let columns = output.isTerminal ? System.terminalColumns(1) : 120
            var table = TextTable([("key", .left), ("value", .left)])
            for child in snapshot.childSnapshots { table.add(child.key, RealtimeJSON.text(child)) }
            for line in table.lines { output.line(DisplayWidth.cut(line, to: columns)) }
        } else {
            Messages.line("larder: no child of '\(query.path)' matches")
        }
        RealtimeReport.warnIfIncomplete(snapshot)
    }
}
