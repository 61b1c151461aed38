import ArgumentParser
import LarderCore
import LarderDocumentJSON
import LarderDocumentStore
import LarderModel

/// `larder export`: documents as NDJSON.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract:
            "Exports documents as NDJSON, one object per line, with pending writes applied.",
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
            Doubles always have a point or an exponent. Pending writes are applied, as in 'larder \
            get'; --confirmed exports what the backend has confirmed.

            EXAMPLES
              larder export cities --id id --output cities.ndjson
              larder export | gzip > everything.ndjson.gz
            """)

    @Argument(help: "The collection; all collections by default.")
    var collection: String?

    @Flag(help: "Include subcollections.")
    var recursive = false

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Write to this file, which is replaced atomically at the end.",
            valueName: "file"))
    var output: String?

    @Option(
        help: ArgumentHelp(
            "Write the ID as this field instead of the path as \"$name\".", valueName: "field"))
    var id: String?

    @Flag(help: "Without pending writes.")
    var confirmed = false

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        if recursive && collection == nil {
            throw ValidationError(
                "--recursive requires a collection; by default everything is exported.")
        }
        if id != nil && (collection == nil || recursive) {
            throw ValidationError("--id requires one collection, without --recursive.")
        }
        if id?.isEmpty == true { throw ValidationError("--id requires a field name.") }
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
            var exporter = Exporter(
                output: output, idField: id, user: confirmed ? nil : .unauthenticated)
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
                "pendingCount": .integer(exporter.pendingCount),
                "file": .string(output ?? ""),
            ])
        } else {
            standard.line(
                "exported \(NumberText.things(exporter.documentCount, "document")) of "
                    + "\(NumberText.things(exporter.collectionCount, "collection")) "
                    + "to \(output ?? "")"
                    + (exporter.pendingCount > 0
                        ? ", \(NumberText.count(exporter.pendingCount)) of them with pending writes"
                        : ""))
        }
        try? standard.flush()
    }
}

/// Writes documents of one snapshot as lines of JSON.
struct Exporter {
    /// Documents written so far.
    private(set) var documentCount: Int64 = 0
    /// Documents with pending writes among them.
    private(set) var pendingCount: Int64 = 0
    /// Collections with at least one document written.
    private(set) var collectionCount: Int64 = 0

    private let output: Output
    private let idField: String?
    /// The user whose pending writes are applied; nil for none.
    private let user: UserID?
    private var bar = ProgressBar("export", unit: .count("documents"))

    /// Writes to an output; `idField` names the member for a document's id, nil for paths.
    init(output: Output, idField: String?, user: UserID?) {
        self.output = output
        self.idField = idField
        self.user = user
    }

    /// Writes one collection, also those below its documents, or everything.
    mutating func export(
        _ collection: CollectionPath?, isRecursive: Bool, from store: Store
    ) throws {
        defer { bar.finish() }
        try store.read { txn in
            let total = try txn.statistics().documentCount
            let paths = try txn.collectionPaths(asSeenBy: user).filter {
                Self.wants($0, collection, isRecursive: isRecursive)
            }
            if let collection, paths.isEmpty {
                throw ToolError(
                    .noInput, "there is no collection '\(collection)'",
                    hint: "'larder ls' lists the collections")
            }
            for path in paths { try write(path, of: txn, total: total) }
            warnOfOtherUsers(try txn.usersWithMutations())
        }
    }

    /// Says that pending writes of signed-in users are not applied.
    private func warnOfOtherUsers(_ users: [UserID]) {
        let others = users.filter { $0 != .unauthenticated }
        guard user != nil, !others.isEmpty else { return }
        Messages.line(
            "larder: the pending writes of \(NumberText.things(Int64(others.count), "signed-in user")) "
                + "are not part of it")
    }

    private static func wants(
        _ path: CollectionPath, _ collection: CollectionPath?, isRecursive: Bool
    ) -> Bool {
        guard let collection else { return true }
        return path == collection || isRecursive && path.parent?.isBelow(collection) ?? false
    }

    private mutating func write(
        _ collection: CollectionPath, of txn: borrowing ReadTransaction, total: Int64
    ) throws {
        let before = documentCount
        try txn.documents(in: .collection(collection), options: ScanOptions(user: user)) { entry in
            try write(entry.path, try entry.record.fields())
            if entry.hasLocalMutations { pendingCount += 1 }
            bar.update(documentCount, of: total)
            if Interruption.isRequested { throw ToolError.interrupted }
            return .continue
        }
        if documentCount > before { collectionCount += 1 }
    }

    private mutating func write(_ path: DocumentPath, _ fields: MapValue) throws {
        if let idField, fields[idField] != nil, fields[idField] != .string(path.id) {
            throw ToolError(
                .badData, "the field '\(idField)' of the document \(path) differs from its ID",
                hint: "choose another name with --id, or omit it")
        }
        output.append { bytes in
            DocumentLine.append(path, fields, idField: idField, to: &bytes)
        }
        documentCount += 1
    }
}
