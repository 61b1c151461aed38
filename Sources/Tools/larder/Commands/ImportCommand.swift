import ArgumentParser
import LarderDocumentJSON
import LarderDocumentStore
import LarderModel

/// `larder import`: documents from JSON.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Imports documents from JSON, creating the store if it does not exist.",
        discussion: """
            The input is NDJSON (one object per line), an array of objects, or an object of \
            objects by ID; a file, or - for standard input. Invalid lines are reported on \
            standard error with their numbers and skipped; the exit status is then 1.

            The path of a document is --collection plus an ID: from the field --id FIELD (a \
            string or an integer), from the key in an object of objects, or generated. Without \
            --collection it is "$name", as written by 'larder export'. Existing documents are \
            replaced, so an interrupted import can be repeated.

            Integers that fit in 64 bits become integers, other numbers doubles. Objects with \
            the two numbers latitude and longitude become geo points, and the objects listed by \
            'larder help export' the types they represent; --untyped keeps all of them as maps.

            EXAMPLES
              larder import cities.ndjson --collection cities --id id
              larder import landmarks.json --collection cities/SF/landmarks --timestamps
              zstd -dc all.ndjson.zst | larder import - --durability last-commit-at-risk
              larder import c.ndjson -c cities --id id --index state,population:desc
              larder import c.ndjson -c cities --id id --budget 64MiB
            """)

    @Argument(help: ArgumentHelp("The input; - is standard input.", valueName: "file"))
    var file: String

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The target collection, e.g. cities or cities/SF/landmarks.", valueName: "path"))
    var collection: String?

    @Option(help: ArgumentHelp("The field that contains the document ID.", valueName: "field"))
    var id: String?

    @Flag(help: "Keep the ID as a field.")
    var keepID = false

    @Option(
        help: ArgumentHelp("The format of the input.", valueName: "format"))
    var format = Format.auto

    @Flag(help: "Convert RFC 3339 strings to timestamps.")
    var timestamps = false

    @Flag(help: "Keep all objects as maps, even those that represent other types.")
    var untyped = false

    @Option(
        help: ArgumentHelp(
            "Define an index: fields with :asc, :desc or :contains (may be repeated).",
            valueName: "field,..."))
    var index: [String] = []

    @Option(help: ArgumentHelp("The number of documents per commit.", valueName: "count"))
    var batch = 500

    @Option(help: ArgumentHelp("Stop after more invalid lines than this.", valueName: "count"))
    var maxErrors: Int?

    @Option(
        help: ArgumentHelp(
            "Evict the least recently used documents above this size.", valueName: "size"))
    var budget: ByteSize?

    @Option(
        help: ArgumentHelp(
            "Whether each commit is on disk when it returns, or the last may be lost in a power "
                + "cut.", valueName: "mode"))
    var durability = Durability.everyCommit

    @Flag(help: "Evict within --budget even if the store may be the only copy of its data.")
    var force = false

    @OptionGroup var options: StoreOptions

    /// The format of the input.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case auto, ndjson, json
    }

    /// The durability of commits.
    enum Durability: String, ExpressibleByArgument, CaseIterable {
        case everyCommit = "every-commit"
        case lastCommitAtRisk = "last-commit-at-risk"
    }

    mutating func validate() throws {
        if collection == nil && id != nil {
            throw ValidationError("--id requires --collection.")
        }
        if keepID && id == nil { throw ValidationError("--keep-id requires --id.") }
        if id?.isEmpty == true { throw ValidationError("--id requires a field name.") }
        if collection == nil && !index.isEmpty {
            throw ValidationError("--index requires --collection.")
        }
        if !(1...100_000).contains(batch) {
            throw ValidationError("--batch must be between 1 and 100000.")
        }
        if let maxErrors, maxErrors < 0 {
            throw ValidationError("--max-errors must not be negative.")
        }
        if let budget, budget.bytes < 1_048_576 {
            throw ValidationError("--budget must be at least 1MiB.")
        }
        for text in index { _ = try IndexArgument(text) }
    }

    func run() throws {
        let collection = try self.collection.map(PathArgument.collection)
        let indexes = try index.map { try IndexArgument($0) }
        let descriptor = try InputText.open(file)
        defer { if descriptor != 0 { System.close(descriptor) } }
        Interruption.catchSignals()

        let summary = try options.describingErrors {
            let store = try options.open(configuration)
            try claim(store)
            for index in indexes {
                try index.define(in: store, group: collection?.id ?? "")
            }
            let input = DocumentInput(
                layout: DocumentInput.Layout(rawValue: format.rawValue),
                prefersJSON: file.hasSuffix(".json")
            ) { try System.read(descriptor, into: $0) }
            var importer = Importer(
                store: store, reader: documentReader(collection), batchCount: batch,
                maxErrors: maxErrors, name: file == "-" ? "standard input" : file,
                totalBytes: System.regularFileSize(descriptor))
            let ending = importer.run(input)
            let summary = try ImportSummary(
                importer, ending: ending, store: store, directory: options.directory,
                collection: collection?.string)
            try store.close()
            return summary
        }
        let output = Output.standard()
        if options.json {
            output.line(summary.report)
        } else {
            for line in summary.lines { output.line(line) }
        }
        try output.flush()
        try summary.throwIfIncomplete()
    }

    /// Records that a new store is an import; says what another store is.
    private func claim(_ store: Store) throws {
        if store.opening.state == .created {
            try store.write { txn throws(LarderError) in try txn.putRole(.imported) }
            return
        }
        let kind = try StoreKind(store)
        if let budget {
            let statistics = try store.statistics()
            if statistics.totalBytes > 0 {
                try options.refuseLoss(
                    of: "what is evicted of \(EvictionRun.contents(statistics)) to keep "
                        + "\(ByteSize(budget.bytes).text)", in: kind, isForced: force)
            }
        }
        if kind.role == .backend {
            Messages.line(
                "larder: the store is the store of a backend: its clients receive the documents "
                    + "when a server opens it")
        }
    }

    private var configuration: StoreConfiguration {
        var configuration = StoreConfiguration(directory: options.directory)
        configuration.durability =
            durability == .everyCommit ? .everyCommit : .lastCommitAtRisk
        if let budget { configuration.budget = .bytes(budget.bytes) }
        return configuration
    }

    private func documentReader(_ collection: CollectionPath?) -> DocumentReader {
        var json = TypedJSONReader.Options()
        json.readsTimestamps = timestamps
        json.readsTypedForms = !untyped
        return DocumentReader(
            collection: collection, idField: id, keepsIDField: keepID, json: json)
    }
}

/// The result of an import and the state of the store after it.
struct ImportSummary {
    private let importer: Importer
    private let ending: Importer.Ending
    private let figures: StoreFigures
    private let directory: String
    private let collection: String?

    /// Reads the store's statistics after an import.
    init(
        _ importer: Importer, ending: Importer.Ending, store: Store, directory: String,
        collection: String?
    ) throws(LarderError) {
        self.importer = importer
        self.ending = ending
        self.directory = directory
        self.collection = collection
        figures = try StoreFigures(store)
    }

    private var rate: Double {
        importer.seconds > 0 ? Double(importer.writtenCount) / importer.seconds : 0
    }

    var lines: [String] {
        let into = collection.map { " into \($0)" } ?? ""
        var lines = [
            "imported \(NumberText.things(importer.writtenCount, "document"))\(into): "
                + "\(NumberText.count(importer.addedCount)) added, "
                + "\(NumberText.count(importer.replacedCount)) replaced, "
                + "\(NumberText.count(importer.errorCount)) skipped",
            "read \(ByteSize(importer.consumedBytes).text) in "
                + "\(NumberText.duration(seconds: importer.seconds)), "
                + "\(NumberText.count(Int64(rate.rounded()))) documents/s",
        ]
        let statistics = figures.statistics
        if statistics.evictedDocumentCount > 0 {
            lines.append(
                "evicted \(NumberText.things(statistics.evictedDocumentCount, "document")) "
                    + "to stay within the budget")
        }
        lines.append(
            "store \(directory): \(NumberText.things(statistics.documentCount, "document")), "
                + "\(ByteSize(statistics.totalBytes).text) of rows, "
                + "\(ByteSize(statistics.fileBytes).text) on disk")
        return lines
    }

    var report: JSONReport {
        let outcome =
            switch ending {
            case .complete: "complete"
            case .interrupted: "interrupted"
            case .tooManyErrors: "tooManyErrors"
            case .failed: "failed"
            }
        return [
            "outcome": .string(outcome),
            "addedCount": .integer(importer.addedCount),
            "replacedCount": .integer(importer.replacedCount),
            "errorCount": .integer(importer.errorCount),
            "readBytes": .integer(importer.consumedBytes),
            "seconds": .rounded(importer.seconds),
            "documentsPerSecond": .rounded(rate),
            "evictedDocumentCount": .integer(figures.statistics.evictedDocumentCount),
            "store": figures.report,
        ]
    }

    /// Throws an exit status if something was skipped.
    func throwIfIncomplete() throws {
        switch ending {
        case .interrupted:
            throw ToolError(
                .interrupted, "interrupted after line \(importer.lastLine)",
                hint: "run it again: documents that exist are replaced")
        case .failed(let error):
            throw error
        case .tooManyErrors:
            throw ToolError(
                .badData, "stopped after \(NumberText.things(importer.errorCount, "invalid line"))",
                hint: "correct them, or allow more with --max-errors")
        case .complete where importer.errorCount > 0 && importer.writtenCount == 0:
            throw ToolError(
                .badData,
                "\(NumberText.things(importer.errorCount, "document")) skipped, none imported",
                hint: "the reasons are above")
        case .complete where importer.errorCount > 0:
            throw ExitCode(ExitStatus.findings.rawValue)
        case .complete:
            break
        }
    }
}
