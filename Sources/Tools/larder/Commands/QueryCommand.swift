import ArgumentParser
import Larder
import LarderModel

/// `larder query`: the documents that match.
struct QueryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Prints the documents that match a query, with pending writes applied.",
        discussion: """
            A condition is FIELD OPERATOR VALUE; conditions are joined with 'and', 'or' and \
            parentheses. Operators: == != < <= > >= in not-in array-contains array-contains-any. \
            Fields are paths such as stats.area, with unusual names in backticks; __name__ is \
            the document ID. Values are JSON as written by 'larder export', unquoted words as \
            strings, lists such as [FR, DE], ref:cities/SF and time:2026-01-31T12:00:00Z.

            With --json, prints one document per line, as 'larder export' does. --explain adds \
            the plan, the plans considered and the amount of data read; with --json as a last \
            line {"$explain": ...}.

            EXAMPLES
              larder query cities --where 'population > 1000000' --order population --desc \
            --limit 10
              larder query cities --where 'country in [FR, DE] and population >= 5e5' --explain
              larder query landmarks --group --select name,length
              larder query cities --order name --start-after '"San Francisco"' --limit 20
            """)

    @OptionGroup var query: QueryOptions

    @Option(
        name: .customLong("select"),
        help: ArgumentHelp(
            "Show only these fields (may be repeated).", valueName: "field,..."))
    var selected: [String] = []

    @Flag(help: "Add the plan of the query and the amount of data read.")
    var explain = false

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        let parsed = try query.parsed(options.databaseID)
        let printer = try DocumentPrinter(selecting: selected, showsPaths: query.group)
        let output = Output.standard()
        try await options.withDatabase(.readOnly, about: query.subject) { firestore in
            let question = try parsed.query(
                UserValues(firestore: firestore, databaseID: options.databaseID))
            // First, so that the documents read by the query do not affect the statistics.
            let explanation = explain ? try await question.explain() : nil
            let documents = try await question.getDocuments(source: .cache).documents
                .compactMap(\.document)
            print(documents, printer, to: output)
            if documents.isEmpty, !options.json { printHints(parsed) }
            if let explanation {
                let text = ExplanationText(explanation: explanation)
                if options.json {
                    output.line(["$explain": text.report])
                } else {
                    output.line()
                    for line in text.lines { output.line(line) }
                }
            }
        }
        try output.flush()
    }

    /// Prints what may be wrong with a query without results.
    private func printHints(_ query: ParsedQuery) {
        for word in query.numberLikeWords {
            Messages.line(
                "larder: '\(word)' is not a number and is compared as a string; numbers are "
                    + "written like 1000000 or 1e6")
        }
    }

    private func print(_ documents: [Document], _ printer: DocumentPrinter, to output: Output) {
        if options.json {
            for document in documents {
                output.append { printer.append(document, to: &$0) }
            }
            return
        }
        guard !documents.isEmpty else {
            Messages.line("larder: no document of \(query.collection) matches")
            return
        }
        let columns = output.isTerminal ? System.terminalColumns(1) : 120
        for line in printer.lines(documents, columns: columns) { output.line(line) }
        let pending = documents.count(where: \.hasLocalMutations)
        if pending > 0 {
            Messages.line(
                "larder: pending writes are in "
                    + "\(pending == documents.count ? "all of " : "\(NumberText.count(pending)) of ")"
                    + NumberText.things(Int64(documents.count), "document"))
        }
    }
}

/// The explanation of a query as text and as JSON.
struct ExplanationText {
    let explanation: QueryExplanation

    var lines: [String] {
        var table = TextTable([("", .left), ("", .left)])
        func add(_ title: String, _ texts: [String]) {
            for (position, text) in texts.enumerated() {
                table.add(position == 0 ? title : "", text)
            }
        }
        add("plan", explanation.plan.split(separator: "\n").map(String.init))
        add("indexes", explanation.indexes.isEmpty ? ["none"] : explanation.indexes)
        add(
            "considered",
            explanation.alternatives.map { alternative in
                let plan = alternative.plan.split(separator: "\n").map { String($0).trimmingSpaces }
                return "cost \(NumberText.fixed(alternative.cost, digits: 1)): "
                    + plan.joined(separator: "; ") + (alternative.isChosen ? " (chosen)" : "")
            })
        add(
            "scanned",
            [
                "\(NumberText.things(Int64(explanation.documentsScanned), "document")), "
                    + NumberText.things(
                        Int64(explanation.indexEntriesScanned), "index entry", "index entries")
                    + ", \(ByteSize(explanation.bytesRead).text)"
            ])
        add("returned", [NumberText.things(Int64(explanation.documentsReturned), "document")])
        add("time", [NumberText.duration(seconds: Double(explanation.microseconds) / 1e6)])
        return table.lines
    }

    var report: JSONReport {
        [
            "kind": .string(explanation.kind),
            "plan": .string(explanation.plan),
            "indexes": .array(explanation.indexes.map { .string($0) }),
            "alternatives": .array(
                explanation.alternatives.map { alternative in
                    [
                        "plan": .string(alternative.plan),
                        "cost": .rounded(alternative.cost),
                        "isChosen": .boolean(alternative.isChosen),
                    ]
                }),
            "documentsScanned": .integer(explanation.documentsScanned),
            "documentsReturned": .integer(explanation.documentsReturned),
            "indexEntriesScanned": .integer(explanation.indexEntriesScanned),
            "bytesRead": .integer(explanation.bytesRead),
            "microseconds": .integer(explanation.microseconds),
        ]
    }
}
