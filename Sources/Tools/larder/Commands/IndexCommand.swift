import ArgumentParser
import Larder
import LarderDocumentStore
import LarderModel

/// `larder index`: lists, defines, drops and fills indexes.
struct IndexCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index",
        abstract: "Lists the indexes of a store, or changes them.",
        discussion: """
            An index covers all collections with one ID: 'cities: state asc, population desc, \
            tags contains', where asc is optional. Queries use an index once it is complete. New \
            indexes are built by --build, or in the background by the next program that opens \
            the store for writing. --set replaces all indexes with those of the Firebase CLI's \
            firestore.indexes.json.

            EXAMPLES
              larder index
              larder index --add 'cities: country, population desc' --build
              larder index --drop 'cities: country, population desc'
              larder index --set firestore.indexes.json --build
            """)

    @Option(
        name: .customLong("set"),
        help: ArgumentHelp(
            "Replace all indexes with those of a JSON file; - reads standard input.",
            valueName: "file"))
    var file: String?

    @Option(help: ArgumentHelp("Define an index (may be repeated).", valueName: "index"))
    var add: [String] = []

    @Option(help: ArgumentHelp("Drop an index (may be repeated).", valueName: "index"))
    var drop: [String] = []

    @Flag(help: "Build incomplete indexes.")
    var build = false

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        if file != nil && !(add.isEmpty && drop.isEmpty) {
            throw ValidationError("--set cannot be combined with --add and --drop.")
        }
    }

    func run() async throws {
        let added = try add.map { try Self.index("--add", $0) }
        let dropped = try drop.map { try Self.index("--drop", $0) }
        let configuration = try file.map(Self.configurationText)
        var isMissing = false
        if let configuration {
            try await options.withDatabase(.readWrite) { firestore in
                try await replace(by: configuration, in: firestore)
            }
        } else if !added.isEmpty || !dropped.isEmpty {
            isMissing = try await options.withDatabase(.readWrite, about: "the indexes") {
                try await change(added, dropped, in: $0)
            }
        }
        if build {
            try options.describingErrors {
                let store = try options.open(.readWrite)
                try IndexFill(store: store).run()
                try store.close()
            }
        }
        let output = Output.standard()
        try await options.withDatabase(.readOnly) { firestore in
            print(try firestore.indexes(), to: output)
        }
        try output.flush()
        if Interruption.isRequested { throw ToolError.interrupted }
        if isMissing { throw ExitCode(ExitStatus.findings.rawValue) }
    }

    private static func index(_ option: String, _ text: String) throws -> CacheIndex {
        try expression(option, text) { () throws(ExpressionFailure) in
            try CacheIndexArgument(text).index
        }
    }

    private static func configurationText(_ file: String) throws -> String {
        let bytes = try InputText.read(file, maxBytes: 8 * 1024 * 1024)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ToolError(
                .badData, "'\(file)' is not UTF-8", hint: "specify the Firebase CLI's JSON")
        }
        return text
    }

    private func replace(by configuration: String, in firestore: Firestore) async throws {
        do {
            try await firestore.setIndexConfiguration(configuration)
        } catch let error as LarderError where error.kind == .invalidArgument {
            throw ToolError(
                .badData, "\(file ?? ""): \(error.message)",
                hint: "'firebase firestore:indexes' prints the expected format")
        }
    }

    /// Adds and drops indexes.
    ///
    /// - Returns: whether an index to drop is missing.
    private func change(
        _ added: [CacheIndex], _ dropped: [CacheIndex], in firestore: Firestore
    ) async throws -> Bool {
        var indexes = try firestore.indexes().map(\.index)
        var isMissing = false
        for index in dropped {
            guard let position = indexes.firstIndex(of: index) else {
                isMissing = true
                Messages.line("larder: no such index: '\(CacheIndexArgument.text(of: index))'")
                continue
            }
            indexes.remove(at: position)
        }
        for index in added where !indexes.contains(index) { indexes.append(index) }
        try await firestore.setIndexes(indexes)
        return isMissing
    }

    private func print(_ indexes: [CacheIndexState], to output: Output) {
        if options.json {
            output.line(["indexes": .array(indexes.map(Self.report))])
            return
        }
        guard !indexes.isEmpty else {
            Messages.line("larder: no indexes; 'larder index --add' defines one")
            return
        }
        var table = TextTable([
            ("collections", .left), ("fields", .left), ("state", .left), ("entries", .right),
            ("size", .right),
        ])
        for state in indexes {
            table.add(
                state.index.collectionGroup, CacheIndexArgument.fieldsText(of: state.index),
                state.isComplete ? "complete" : "incomplete",
                NumberText.count(state.entryCount), ByteSize(state.sizeBytes).text)
        }
        for line in table.lines { output.line(line) }
        if indexes.contains(where: { !$0.isComplete }) {
            Messages.line(
                "larder: queries use an index once it is complete; 'larder index --build' builds it"
            )
        }
    }

    private static func report(_ state: CacheIndexState) -> JSONReport {
        [
            "collectionGroup": .string(state.index.collectionGroup),
            "fields": .string(CacheIndexArgument.fieldsText(of: state.index)),
            "isComplete": .boolean(state.isComplete),
            "entryCount": .integer(state.entryCount),
            "sizeBytes": .integer(state.sizeBytes),
        ]
    }
}

/// The argument of `larder index`: `cities: state asc, population desc, tags contains`.
struct CacheIndexArgument {
    let index: CacheIndex

    private static let orders: [(word: String, order: CacheIndex.Field.Order)] = [
        ("asc", .ascending), ("desc", .descending), ("contains", .contains),
    ]

    /// Parses a collection ID, a colon, and fields separated by commas.
    init(_ text: String) throws(ExpressionFailure) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw ExpressionFailure(
                offset: text.utf8.count,
                reason: "expected a collection ID, ':' and fields, as in 'cities: state asc'")
        }
        let group = String(text[..<colon]).trimmingSpaces
        guard !group.isEmpty, !group.utf8.contains(UInt8(ascii: "/")) else {
            throw ExpressionFailure(
                offset: 0, reason: "an index requires a collection ID, such as 'cities'")
        }
        // Without values, the database of references is irrelevant.
        var scanner = ExpressionScanner(
            text, database: DatabaseID(project: "-", database: "-"),
            from: text.utf8.distance(from: text.startIndex, to: colon) + 1)
        var fields: [CacheIndex.Field] = []
        repeat {
            let path = try scanner.takeField()
            let order = Self.orders.first { scanner.takeWord($0.word) }?.order
            fields.append(CacheIndex.Field(Larder.FieldPath(path.segments), order ?? .ascending))
        } while scanner.take(",")
        guard scanner.isAtEnd else {
            throw scanner.failure(
                "expected 'asc', 'desc', 'contains', ',' or the end, found \(scanner.found)")
        }
        guard fields.count <= 16, fields.count(where: { $0.order == .contains }) <= 1 else {
            throw ExpressionFailure(
                offset: 0, reason: "an index has at most 16 fields, one of them 'contains'")
        }
        index = CacheIndex(group, fields)
    }

    static func text(of index: CacheIndex) -> String {
        "\(index.collectionGroup): \(fieldsText(of: index))"
    }

    static func fieldsText(of index: CacheIndex) -> String {
        index.fields.map { field in
            let word = orders.first { $0.order == field.order }?.word ?? ""
            return "\(field.path) \(word)"
        }.joined(separator: ", ")
    }
}
