import ArgumentParser
import Dispatch
import Larder
import LarderModel

/// `larder watch`: changes of a query's results or a document, as they happen.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Prints changes of a document or of query results as they happen.",
        discussion: """
            Prints one line per change: + for an added, ~ for a modified and - for a removed \
            document, with its path and fields. Existing documents come first, unless --new is \
            given. The query is given as for 'larder query', a document by its path. Other \
            processes can write meanwhile. Control-C ends the command with exit status 0.

            With --json, prints one object per line: change (added, modified, removed), name, \
            hasPendingWrites, fields.

            EXAMPLES
              larder watch cities
              larder watch cities/SF --new
              larder watch cities --where 'population > 1000000' --select name,population
              larder watch cities --for 60 --json
            """)

    @OptionGroup var query: QueryOptions

    @Option(
        name: .customLong("select"),
        help: ArgumentHelp("Show only these fields (may be repeated).", valueName: "field,..."))
    var selected: [String] = []

    @Flag(help: "Skip existing documents.")
    var new = false

    @OptionGroup var limits: WatchLimits

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        let printer = ChangePrinter(
            fields: try DocumentPrinter(selecting: selected, showsPaths: true),
            output: Output.standard(), json: options.json, limit: limits.count)
        if !query.group, case .document(let path) = try PathArgument.either(query.collection) {
            guard query.isPlain else {
                throw ToolError(
                    .usage, "'\(path)' is a document, which does not support conditions and orders",
                    hint: "name its collection, e.g. larder watch \(path.parent)")
            }
            try await options.withDatabase(.readOnly, about: "'\(path)'") { firestore in
                try await watch(firestore.document(path.string), printer)
            }
        } else {
            let parsed = try query.parsed(options.databaseID)
            try await options.withDatabase(.readOnly, about: query.subject) { firestore in
                try await watch(
                    try parsed.query(
                        UserValues(firestore: firestore, databaseID: options.databaseID)), printer)
            }
        }
    }

    private func watch(_ query: Query, _ printer: ChangePrinter) async throws {
        let (events, feed) = AsyncThrowingStream<QuerySnapshot, any Error>.makeStream()
        let registration = query.addSnapshotListener { snapshot, error in
            if let snapshot { feed.yield(snapshot) } else { feed.finish(throwing: error) }
        }
        defer { registration.remove() }
        try Interruption.onRequest { feed.finish() }
        var isFirst = true
        for try await snapshot in events {
            if isFirst { begin(snapshot.count) { feed.finish() } }
            if !isFirst || !new {
                for change in snapshot.documentChanges {
                    guard let document = change.document.document else { continue }
                    if try !printer.print(change.type, document) { return }
                }
            }
            isFirst = false
        }
    }

    private func watch(_ reference: DocumentReference, _ printer: ChangePrinter) async throws {
        let (events, feed) = AsyncThrowingStream<DocumentSnapshot, any Error>.makeStream()
        let registration = reference.addSnapshotListener { snapshot, error in
            if let snapshot { feed.yield(snapshot) } else { feed.finish(throwing: error) }
        }
        defer { registration.remove() }
        try Interruption.onRequest { feed.finish() }
        var known: Document?
        var isFirst = true
        for try await snapshot in events {
            let document = snapshot.exists ? snapshot.document : nil
            if isFirst { begin(document == nil ? 0 : 1) { feed.finish() } }
            let change: (DocumentChangeType, Document)? =
                switch (known, document) {
                case (nil, let document?): (.added, document)
                case (.some, let document?): (.modified, document)
                case (let gone?, nil): (.removed, gone)
                case (nil, nil): nil
                }
            if let change, !isFirst || !new {
                if try !printer.print(change.0, change.1) { return }
            }
            known = document
            isFirst = false
        }
    }

    /// Prints that watching has started, and calls a closure after the requested time.
    private func begin(_ count: Int, _ end: @escaping @Sendable () -> Void) {
        Messages.line(
            "larder: watching \(query.collection), \(NumberText.things(Int64(count), "document")); "
                + "control-C ends it")
        limits.afterTime(end)
    }
}

/// The options of watch commands that end them.
struct WatchLimits: ParsableArguments {
    @Option(help: ArgumentHelp("End after this number of events.", valueName: "events"))
    var count: Int?

    @Option(
        name: .customLong("for"), help: ArgumentHelp("End after this time.", valueName: "seconds"))
    var seconds: Double?

    mutating func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be positive.") }
        if let seconds, !(seconds > 0 && seconds <= 1e9) {
            throw ValidationError("--for must be a positive number of seconds.")
        }
    }

    /// Calls a closure after the requested time, if there is one.
    func afterTime(_ body: @escaping @Sendable () -> Void) {
        guard let seconds else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: body)
    }
}

/// Prints changes, flushing each one.
final class ChangePrinter {
    private let fields: DocumentPrinter
    private let output: Output
    private let json: Bool
    private let limit: Int?
    private var printedCount = 0

    init(fields: DocumentPrinter, output: Output, json: Bool, limit: Int?) {
        self.fields = fields
        self.output = output
        self.json = json
        self.limit = limit
    }

    /// Prints a change.
    ///
    /// - Returns: false once the limit is reached.
    func print(_ type: DocumentChangeType, _ document: Document) throws -> Bool {
        if json {
            output.line([
                "change": .string(Self.name(of: type)),
                "name": .string(document.path.string),
                "hasPendingWrites": .boolean(document.hasLocalMutations),
                "fields": .fields(fields.fields(of: document)),
            ])
        } else {
            output.line("\(Self.sign(of: type)) \(document.path)  \(fields.text(of: document))")
        }
        try output.flush()
        printedCount += 1
        return limit.map { printedCount < $0 } ?? true
    }

    private static func name(of type: DocumentChangeType) -> String {
        switch type {
        case .added: "added"
        case .modified: "modified"
        case .removed: "removed"
        }
    }

    private static func sign(of type: DocumentChangeType) -> String {
        switch type {
        case .added: "+"
        case .modified: "~"
        case .removed: "-"
        }
    }
}
