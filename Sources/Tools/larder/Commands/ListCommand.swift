import ArgumentParser
import LarderCore
import LarderDocumentJSON
import LarderDocumentStore
import LarderModel

/// `larder ls`: collections, or the documents of one.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "Lists collections, or the documents of a collection.",
        discussion: """
            Without a path, lists all collections, with subcollections indented below their \
            parents. With the path of a collection, lists its documents in order of their IDs. \
            With the path of a document, lists its subcollections. Pending writes are applied.

            EXAMPLES
              larder ls
              larder ls cities --limit 20 --start 5391959
              larder ls cities/SF
            """)

    @Argument(help: "A collection or a document.")
    var path: String?

    @Option(help: ArgumentHelp("The maximum number of documents.", valueName: "count"))
    var limit = 100

    @Option(help: ArgumentHelp("Start at this document ID.", valueName: "id"))
    var start: String?

    @Flag(help: "List in descending order.")
    var reverse = false

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        if limit < 1 { throw ValidationError("--limit must be positive.") }
        if start?.isEmpty == true { throw ValidationError("--start requires a document ID.") }
    }

    func run() throws {
        let target = try path.map(PathArgument.either)
        if case .collection = target {
        } else if start != nil || reverse {
            throw ToolError(
                .usage, "--start and --reverse apply to the documents of a collection",
                hint: "specify one, e.g. larder ls cities")
        }
        let output = Output.standard()
        try options.describingErrors {
            let store = try options.open(.readOnly)
            switch target {
            case nil: try listCollections(of: store, below: nil, to: output)
            case .document(let document):
                try listCollections(of: store, below: document, to: output)
            case .collection(let collection):
                try listDocuments(of: store, in: collection, to: output)
            }
            try store.close()
        }
        try output.flush()
    }

    // MARK: Collections

    private func listCollections(
        of store: Store, below document: DocumentPath?, to output: Output
    ) throws {
        let found = try store.read { txn throws(LarderError) in
            try txn.allCollections(asSeenBy: .unauthenticated, below: document)
        }
        if options.json {
            output.line([
                "collections": .array(
                    found.map { info in
                        [
                            "path": .string(info.path.string),
                            "documentCount": .integer(info.documentCount),
                            "sizeBytes": .integer(info.sizeBytes),
                        ]
                    })
            ])
            return
        }
        guard !found.isEmpty else {
            let place = document.map { "below \($0)" } ?? "in the store"
            Messages.line("larder: no collections \(place)")
            return
        }
        var table = TextTable([
            ("collection", .left), ("documents", .right), ("size", .right),
        ])
        for (info, name) in zip(found, CollectionTree.names(of: found.map(\.path.string))) {
            table.add(
                name, NumberText.count(info.documentCount), ByteSize(info.sizeBytes).text)
        }
        if found.count > 1 {
            table.add(
                NumberText.things(Int64(found.count), "collection"),
                NumberText.count(found.reduce(0) { $0 + $1.documentCount }),
                ByteSize(found.reduce(0) { $0 + $1.sizeBytes }).text)
        }
        for line in table.lines { output.line(line) }
    }

    // MARK: Documents

    private struct Row {
        var id: String
        var storedBytes: Int64
        var version: SnapshotVersion
        var hasPendingWrites: Bool
        var readTime: SnapshotVersion
        var preview: String
    }

    private func listDocuments(
        of store: Store, in collection: CollectionPath, to output: Output
    ) throws {
        var rows: [Row] = []
        var next: String?
        let wantsPreview = !options.json
        let info = try store.read { txn throws(LarderError) in
            // Bounds are in ascending order in both directions.
            let bound = start.map { ScanBound.id($0) }
            let source = DocumentSource.collection(
                collection, from: reverse ? nil : bound, to: reverse ? bound : nil)
            let options = ScanOptions(isReversed: reverse, user: .unauthenticated)
            try txn.documents(in: source, options: options) { entry throws(LarderError) in
                guard rows.count < limit else {
                    next = entry.id
                    return .stop
                }
                var preview: [UInt8] = []
                if wantsPreview {
                    JSONWriter.append(try entry.record.fields(), to: &preview)
                }
                rows.append(
                    Row(
                        id: entry.id, storedBytes: entry.storedBytes, version: entry.version,
                        hasPendingWrites: entry.hasLocalMutations, readTime: entry.readTime,
                        preview: String(decoding: preview, as: UTF8.self)))
                return .continue
            }
            return try txn.allCollections(asSeenBy: .unauthenticated).first {
                $0.path == collection
            }
        }
        if options.json {
            output.line(report(collection, info, rows, next: next))
            return
        }
        guard let info else {
            throw ToolError(
                .findings,
                "there is no collection '\(collection)' in the store "
                    + "'\(options.directory)'", hint: "'larder ls' lists the collections")
        }
        print(rows, to: output)
        let all = NumberText.things(info.documentCount, "document")
        if let next {
            let reversed = reverse ? " --reverse" : ""
            Messages.line(
                "larder: \(NumberText.count(rows.count)) of \(all); more from "
                    + "larder ls \(collection)\(reversed) --start \(next)")
        }
    }

    private func print(_ rows: [Row], to output: Output) {
        var table = TextTable([
            ("id", .left), ("stored", .right), ("version", .left), ("fields", .left),
        ])
        for row in rows {
            table.add(
                row.id, ByteSize(row.storedBytes).text,
                row.hasPendingWrites ? "pending" : row.version.description, row.preview)
        }
        let columns = output.isTerminal ? System.terminalColumns(1) : 120
        for line in table.lines { output.line(DisplayWidth.cut(line, to: columns)) }
    }

    private func report(
        _ collection: CollectionPath, _ info: CollectionInfo?, _ rows: [Row], next: String?
    ) -> JSONReport {
        [
            "collection": .string(collection.string),
            "documentCount": .integer(info?.documentCount ?? 0),
            "sizeBytes": .integer(info?.sizeBytes ?? 0),
            "documents": .array(
                rows.map { row in
                    [
                        "id": .string(row.id),
                        "storedBytes": .integer(row.storedBytes),
                        "version": .version(row.version),
                        "hasPendingWrites": .boolean(row.hasPendingWrites),
                        "readTime": .version(row.readTime),
                    ]
                }),
            "next": next.map { .string($0) } ?? .null,
        ]
    }
}

/// Collections as an indented tree.
enum CollectionTree {
    /// The indented names of paths in path order: each without its nearest printed ancestor,
    /// indented by two more spaces.
    static func names(of paths: [String]) -> [String] {
        var above: [String] = []
        return paths.map { path in
            while let last = above.last, !path.hasPrefix(last + "/") { above.removeLast() }
            let shown = above.last.map { path.dropFirst($0.count + 1) } ?? path[...]
            defer { above.append(path) }
            return String(repeating: "  ", count: above.count) + shown
        }
    }
}
