import ArgumentParser
import LarderDocumentStore
import LarderModel

/// `larder target`: the targets of the store.
struct TargetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "target",
        abstract: "Inspects the queries sent to a backend.",
        subcommands: [TargetListCommand.self])
}

/// `larder target list`: the queries whose results a backend has sent.
struct TargetListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the queries sent to a backend, with their resumption points.",
        discussion: """
            Lists ID, number of documents at the backend, the last snapshot of the backend that \
            the cache contains completely, the resumption point (a token, the snapshot's time, \
            or the beginning) and the query of each target. Documents of a target stay in the \
            cache as long as the target, which is removed if it has not been used for long and \
            space is needed.

            EXAMPLES
              larder target list
              larder target list --json
            """)

    @OptionGroup var options: StoreOptions

    func run() throws {
        let output = Output.standard()
        try options.describingErrors {
            let store = try options.open(.readOnly)
            let targets = try store.read { (transaction) throws(LarderError) in
                try transaction.targets().map { target throws(LarderError) in
                    (target, try transaction.documentCount(ofTarget: target.id))
                }
            }
            try store.close()
            list(targets, to: output)
        }
        try output.flush()
    }

    private func list(_ targets: [(Target, documentCount: Int64)], to output: Output) {
        if options.json {
            output.line(["targets": .array(targets.map { Self.report($0, $1) })])
            return
        }
        guard !targets.isEmpty else {
            Messages.line("larder: no targets")
            return
        }
        var table = TextTable([
            ("target", .right), ("documents", .right), ("complete as of", .left),
            ("resumes from", .left), ("query", .left),
        ])
        for (target, count) in targets {
            table.add(
                String(target.id), NumberText.count(count),
                target.snapshotVersion.isNone ? "-" : target.snapshotVersion.description,
                Self.resumption(of: target), target.canonicalID)
        }
        for line in table.lines { output.line(line) }
    }

    private static func resumption(of target: Target) -> String {
        if !target.resumeToken.isEmpty {
            return "a token of \(target.resumeToken.count) bytes"
        }
        return target.snapshotVersion.isNone ? "the beginning" : "the snapshot"
    }

    private static func report(_ target: Target, _ documentCount: Int64) -> JSONReport {
        [
            "target": .integer(Int(target.id)),
            "query": .string(target.canonicalID),
            "documentCount": .integer(documentCount),
            "readTime": .version(target.snapshotVersion),
            "limboFreeTime": .version(target.limboFreeVersion),
            "resumeTokenBytes": .integer(target.resumeToken.count),
        ]
    }
}
