import ArgumentParser
import LarderModel
import LarderStorage

/// `larder export`: documents as NDJSON.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes documents as NDJSON, one object a line.",
        discussion: """
            One collection, with --recursive also those below its documents; without a path the \
            whole store. It is one snapshot, also while another process writes. Every line has \
            the document's path as "$name"; with --id FIELD its id as a field instead. \
            'larder import' reads both back.

            What JSON has no notation for is written as an object:
              timestamp   {"$timestamp": "2026-01-31T12:00:00.5Z"}
              geo point   {"latitude": 37.77, "longitude": -122.42}
              bytes       {"$bytes": "aGVsbG8="}
              reference   {"$reference": "projects/P/databases/D/documents/cities/SF"}
              vector      {"$vector": [1.0, 2.5]}
              NaN etc.    {"$double": "NaN"}, "Infinity", "-Infinity"
              a map that looks like one of these: {"$map": {...}}
            Doubles always have a point or an exponent. Pending writes are not part of it.

            EXAMPLES
              larder export cities --id id --output cities.ndjson
              larder export | gzip > everything.ndjson.gz
            """)

    @Argument(help: "The collection; everything without one.")
    var collection: String?

    @Flag(help: "Also the collections below its documents.")
    var recursive = false

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Write to this file, which is replaced only when all is written.",
            valueName: "file"))
    var output: String?

    @Option(
        help: ArgumentHelp(
            "Write the id as this field instead of the path as \"$name\".", valueName: "field"))
    var id: String?

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        if recursive && collection == nil {
            throw ValidationError("--recursive needs a collection; all is written without one.")
        }
        if id != nil && (collection == nil || recursive) {
            throw ValidationError("--id is for one collection, without --recursive.")
        }
        if id?.isEmpty == true { throw ValidationError("--id takes a field's name.") }
    }

    func run() throws {
        let collection = try self.collection.map(PathArgument.collection)
        Interruption.catchSignals()
        if let output {
            let file = try ReplacedFile(output)
            do {
                let exporter = try export(collection, to: file.output)
                try file.finish()
                summarize(exporter)
            } catch {
                file.discard()
                throw error
            }
        } else {
            let output = Output.standard()
            _ = try export(collection, to: output)
            try output.flush()
        }
    }

    private func export(_ collection: CollectionPath?, to output: Output) throws -> Exporter {
        try options.describingErrors {
            let store = try options.open(.readOnly)
            var exporter = Exporter(output: output, idField: id)
            try exporter.export(collection, isRecursive: recursive, from: store)
            try store.close()
            return exporter
        }
    }

    private func summarize(_ exporter: Exporter) {
        let standard = Output.standard()
        if options.json {
            standard.line([
                "documentCount": .integer(exporter.documentCount),
                "collectionCount": .integer(exporter.collectionCount),
                "file": .string(output ?? ""),
            ])
        } else {
            standard.line(
                "exported \(NumberText.things(exporter.documentCount, "document")) of "
                    + "\(NumberText.things(exporter.collectionCount, "collection")) "
                    + "to \(output ?? "")")
        }
        try? standard.flush()
    }
}
