import ArgumentParser
import LarderModel
import LarderStorage

/// `larder import`: documents from JSON.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Reads documents from JSON into the store, which is made where there is none.",
        discussion: """
            The input is NDJSON (one object a line), an array of objects, or an object of \
            objects by id; a file, or - for standard input. A line that is wrong is named on \
            standard error with its number, and the rest goes on; the exit status is then 1.

            Where a document goes: --collection, with the id from --id FIELD (a string or an \
            integer), from the key of an object of objects, or a new random one; without \
            --collection from "$name", as 'larder export' writes it. A document that is there \
            already is replaced, so that an import that was interrupted can be run again.

            Integers that fit 64 bits become integers, other numbers doubles. An object of the \
            two numbers latitude and longitude becomes a geo point, and the objects of 'larder \
            help export' what they stand for; --untyped leaves all of them maps.

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
            "Where documents go, e.g. cities or cities/SF/landmarks.", valueName: "path"))
    var collection: String?

    @Option(help: ArgumentHelp("The field that is the document's id.", valueName: "field"))
    var id: String?

    @Flag(help: "Keep the id as a field, too.")
    var keepID = false

    @Option(
        help: ArgumentHelp("What the input is.", valueName: "format"))
    var format = Format.auto

    @Flag(help: "Strings in RFC 3339 become timestamps.")
    var timestamps = false

    @Flag(help: "Objects become maps, also those that stand for other values.")
    var untyped = false

    @Option(
        help: ArgumentHelp(
            "Define an index: fields with :asc, :desc or :contains (may be repeated).",
            valueName: "field,..."))
    var index: [String] = []

    @Option(help: ArgumentHelp("Documents in a commit.", valueName: "count"))
    var batch = 500

    @Option(help: ArgumentHelp("Stop when more lines than this are wrong.", valueName: "count"))
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

    @OptionGroup var options: StoreOptions

    /// What the input is.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case auto, ndjson, json
    }

    /// What a commit survives.
    enum Durability: String, ExpressibleByArgument, CaseIterable {
        case everyCommit = "every-commit"
        case lastCommitAtRisk = "last-commit-at-risk"
    }

    mutating func validate() throws {
        if collection == nil && id != nil {
            throw ValidationError("--id needs --collection.")
        }
        if keepID && id == nil { throw ValidationError("--keep-id needs --id.") }
        if id?.isEmpty == true { throw ValidationError("--id takes a field's name.") }
        if collection == nil && !index.isEmpty {
            throw ValidationError("--index needs --collection, whose documents it is over.")
        }
        if !(1...100_000).contains(batch) {
            throw ValidationError("--batch takes a number from 1 to 100000.")
        }
        if let maxErrors, maxErrors < 0 {
            throw ValidationError("--max-errors is not below 0.")
        }
        if let budget, budget.bytes < 1_048_576 {
            throw ValidationError("--budget is at least 1MiB.")
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
            for index in indexes {
                try index.define(in: store, group: collection?.id ?? "")
            }
            let input = DocumentInput(
                descriptor: descriptor, layout: DocumentInput.Layout(rawValue: format.rawValue),
                prefersJSON: file.hasSuffix(".json"))
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

/// What an import did, and what the store holds after it.
struct ImportSummary {
    private let importer: Importer
    private let ending: Importer.Ending
    private let figures: StoreFigures
    private let directory: String
    private let collection: String?

    /// Reads the store's figures after an import.
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

    /// The summary for people.
    var lines: [String] {
        let into = collection.map { " into \($0)" } ?? ""
        var lines = [
            "imported \(NumberText.things(importer.writtenCount, "document"))\(into): "
                + "\(NumberText.count(importer.addedCount)) added, "
                + "\(NumberText.count(importer.replacedCount)) replaced, "
                + "\(NumberText.count(importer.errorCount)) left out",
            "read \(ByteSize(importer.consumedBytes).text) in "
                + "\(NumberText.duration(seconds: importer.seconds)), "
                + "\(NumberText.count(Int64(rate.rounded()))) documents/s",
        ]
        let statistics = figures.statistics
        if statistics.evictedDocumentCount > 0 {
            lines.append(
                "evicted \(NumberText.things(statistics.evictedDocumentCount, "document")) "
                    + "to stay in the budget")
        }
        lines.append(
            "store \(directory): \(NumberText.things(statistics.documentCount, "document")), "
                + "\(ByteSize(statistics.totalBytes).text) of rows, "
                + "\(ByteSize(statistics.fileBytes).text) on disk")
        return lines
    }

    /// The summary for programs.
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

    /// Ends the command with another status than 0 where something was left out.
    func throwIfIncomplete() throws {
        switch ending {
        case .interrupted:
            throw ToolError(
                .interrupted, "interrupted after line \(importer.lastLine)",
                hint: "run it again: what is there already is replaced")
        case .failed(let error):
            throw error
        case .tooManyErrors:
            throw ToolError(
                .badData, "stopped after \(NumberText.things(importer.errorCount, "wrong line"))",
                hint: "mend them, or allow more with --max-errors")
        case .complete where importer.errorCount > 0 && importer.writtenCount == 0:
            throw ToolError(
                .badData, "none of \(NumberText.things(importer.errorCount, "document")) is right",
                hint: "see the reasons above")
        case .complete where importer.errorCount > 0:
            throw ExitCode(ExitStatus.findings.rawValue)
        case .complete:
            break
        }
    }
}
