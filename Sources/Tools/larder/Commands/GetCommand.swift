import ArgumentParser
import LarderDocumentStore
import LarderModel

/// `larder get`: documents by their paths.
struct GetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Prints documents, with pending writes applied.",
        discussion: """
            With --json, prints one object per line: name, state, hasPendingWrites, version, \
            createTime, readTime, storedBytes and fields, in the notation of 'larder export'. \
            Missing documents are reported on standard error, and the exit status is 1.

            EXAMPLES
              larder get cities/SF cities/LA
              larder get cities/SF --json | jq .fields.population
            """)

    @Argument(help: ArgumentHelp("Paths of documents.", valueName: "document"))
    var paths: [String]

    @OptionGroup var options: StoreOptions

    func run() throws {
        let paths = try self.paths.map(PathArgument.document)
        let output = Output.standard()
        var missing = 0
        try options.describingErrors {
            let store = try options.open(.readOnly)
            for (position, path) in paths.enumerated() {
                let document = try store.read { txn throws(LarderError) in
                    try txn.document(at: path, asSeenBy: .unauthenticated)
                }
                guard let document, document.exists else {
                    missing += 1
                    let known =
                        switch document?.state {
                        case .absent where document?.hasLocalMutations == true:
                            "is deleted by a pending write"
                        case .absent: "is known not to exist"
                        case .unknown: "exists with unknown contents"
                        default: "is not in the store"
                        }
                    Messages.line("larder: \(path) \(known)")
                    continue
                }
                if options.json {
                    output.line(Self.report(document))
                } else {
                    if position > 0 { output.line() }
                    Self.print(document, to: output)
                }
            }
            try store.close()
        }
        try output.flush()
        if missing > 0 { throw ExitCode(ExitStatus.findings.rawValue) }
    }

    private static func report(_ document: Document) -> JSONReport {
        [
            "name": .string(document.path.string),
            "state": .string("found"),
            "hasPendingWrites": .boolean(document.hasLocalMutations),
            "version": .version(document.version),
            "createTime": .time(document.createTime),
            "readTime": .version(document.readTime),
            "storedBytes": .integer(document.storedBytes),
            "fields": .fields(document.fields),
        ]
    }

    private static func print(_ document: Document, to output: Output) {
        output.line(document.path.string)
        var table = TextTable([("", .left), ("", .left)])
        if document.hasLocalMutations {
            table.add("  pending", "write \(document.largestBatchID) is the last one")
        } else {
            table.add("  version", document.version.description)
        }
        if let time = document.createTime { table.add("  created", time.description) }
        if !document.readTime.isNone { table.add("  read", document.readTime.description) }
        var stored = ByteSize(document.storedBytes).text
        if let record = document.record {
            stored += ", \(ByteSize(record.sizeBytes).text) as Firestore counts them"
        }
        table.add("  stored", stored)
        for line in table.lines { output.line(line) }
        output.line("  fields")
        for line in FieldText.lines(of: document.fields) { output.line("    " + line) }
    }
}
