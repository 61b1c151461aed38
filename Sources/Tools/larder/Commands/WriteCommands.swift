import ArgumentParser
import Larder
import LarderCore
import LarderDocumentJSON
import LarderModel

/// `larder set`: a document's fields, as a pending write.
struct SetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Sets the fields of a document.",
        discussion: """
            In a client's store the document is durable and visible to queries immediately. The \
            write stays pending until a backend acknowledges it: 'larder pending' lists and \
            cancels pending writes. In a local database, and for documents that are local only by \
            the cache rules, the write is final. In a backend's store, which no server may have \
            open, the write is committed. \
            Fields are a JSON object as written by 'larder export'; - reads it from standard \
            input. {"$serverTimestamp": TIME} represents the backend's commit time.

            EXAMPLES
              larder set cities/SF '{"name": "San Francisco", "population": 860000}'
              larder set cities/SF '{"population": 870000}' --merge
              larder set cities/SF - <sf.json
            """)

    @Argument(help: ArgumentHelp("The document's path.", valueName: "document"))
    var path: String

    @Argument(help: ArgumentHelp("The fields, or - for standard input.", valueName: "json"))
    var fields: String

    @Flag(help: "Keep other fields.")
    var merge = false

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        let path = try PathArgument.document(self.path)
        let fields = try FieldsArgument.read(self.fields)
        try await options.withWritableDatabase(about: "'\(path)'") { session in
            let firestore = session.firestore
            let values = UserValues(firestore: firestore, databaseID: options.databaseID)
            let handle = firestore.document(path.string).enqueueSetData(
                try values.fields(fields), merge: merge)
            try await WriteReport(verb: "set", paths: [path])
                .print(handle, session, json: options.json)
        }
    }
}

/// `larder update`: some fields of a document, as a pending write.
struct UpdateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Updates fields of a document.",
        discussion: """
            Changes are FIELD=VALUE, with fields and values as in 'larder query', where the \
            value extends to the end of the argument and may contain blanks; or one JSON object \
            whose names are field paths; - reads it from standard input. Instead of a value: \
            delete: deletes the field, now: sets the commit time, increment:N, min:N and max:N \
            operate on numbers, union:[...] and remove:[...] on arrays. See 'larder set' for \
            pending writes.

            EXAMPLES
              larder update cities/SF population=870000 stats.area=121.4
              larder update cities/SF visits=increment:1 tags=union:[bay] old=delete: seen=now:
              larder update cities/SF '{"stats.area": 121.4}'
            """)

    @Argument(help: ArgumentHelp("The document's path.", valueName: "document"))
    var path: String

    @Argument(
        help: ArgumentHelp("Changes, or one JSON object.", valueName: "field=value"))
    var changes: [String]

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        let path = try PathArgument.document(self.path)
        let changes = try readChanges()
        try await options.withWritableDatabase(about: "'\(path)'") { session in
            let firestore = session.firestore
            let values = UserValues(firestore: firestore, databaseID: options.databaseID)
            let document = firestore.document(path.string)
            let handle = document.enqueueUpdateData(try values.changes(changes))
            try await WriteReport(verb: "updated", paths: [path])
                .print(handle, session, json: options.json)
            let known = try? await document.getDocument(source: .cache)
            if !session.hasBackend, known?.exists != true {
                Messages.line(
                    "larder: \(path) is not in the store: the update has no effect here, and "
                        + "a backend rejects it unless it has the document")
            }
        }
    }

    private func readChanges() throws -> [FieldChange] {
        if changes.count == 1, let text = changes.first,
            text == "-" || text.trimmingSpaces.hasPrefix("{")
        {
            return try FieldsArgument.read(text).map { name, value in
                do throws(LarderError) {
                    return FieldChange(try LarderModel.FieldPath(canonical: name), value)
                } catch {
                    throw ToolError(
                        .badData, error.message,
                        hint: "its names are field paths, e.g. stats.area")
                }
            }
        }
        return try changes.map { text in
            try expression("the change", text) { () throws(ExpressionFailure) in
                try FieldChange(text, database: options.databaseID)
            }
        }
    }
}

/// `larder delete`: documents, as a pending write.
struct DeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Deletes documents.",
        discussion: """
            Deletes all of them in one write, without their subcollections. In a client's store \
            the documents disappear from queries immediately; until a backend acknowledges the \
            write, 'larder pending --cancel' restores them. In a local database and in a backend's \
            store the write is final.

            EXAMPLES
              larder delete cities/SF
              larder delete cities/SF cities/LA
            """)

    @Argument(help: ArgumentHelp("Paths of documents.", valueName: "document"))
    var paths: [String]

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        let paths = try self.paths.map(PathArgument.document)
        try await options.withWritableDatabase { session in
            let batch = session.firestore.batch()
            for path in paths { batch.deleteDocument(session.firestore.document(path.string)) }
            try await WriteReport(verb: "deleted", paths: paths)
                .print(batch.enqueueCommit(), session, json: options.json)
        }
    }
}

/// The fields of a document on the command line or on standard input.
enum FieldsArgument {
    /// The maximum input, far above the size limit of documents.
    private static let maxBytes = 8 * 1024 * 1024

    /// Reads a JSON object from the argument, or from standard input for `-`.
    static func read(_ argument: String) throws -> MapValue {
        try JSONArgument.parse(
            argument, named: "the fields", maxBytes: maxBytes,
            hint: #"specify a JSON object, e.g. '{"name": "San Francisco"}'"#
        ) { bytes throws(JSONError) in
            try bytes.withUnsafeBufferPointer { (bytes) throws(JSONError) in
                try TypedJSONReader.map(
                    of: try TypedJSONReader.readObject(bytes, options: TypedJSONReader.Options()),
                    at: 0)
            }
        }
    }
}

/// The report of a committed write.
struct WriteReport {
    /// The verb for the documents, such as "set".
    let verb: String
    let paths: [DocumentPath]

    /// Waits until the write is committed locally and, with a backend, acknowledged; prints the
    /// result.
    ///
    /// - Throws: a data error that names the document if the write was rejected.
    func print(_ handle: WriteHandle, _ session: DocumentSession, json: Bool) async throws {
        let id: Int64?
        do throws(LarderError) {
            id = try await handle.committedLocally()
            if session.hasBackend { try await handle.acknowledged() }
        } catch {
            let subject = paths.map { "'\($0)'" }.joined(separator: ", ")
            guard session.hasBackend || error.isAboutWrite else { throw error }
            throw ToolError(.badData, "\(subject): \(error.message)", hint: "nothing was written")
        }
        let output = Output.standard()
        if json {
            output.line([
                "write": id.map { .integer($0) } ?? .null,
                "documents": .array(paths.map { .string($0.string) }),
                "state": .string(
                    session.hasBackend ? "acknowledged" : id == nil ? "final" : "pending"),
            ])
        } else if session.hasBackend {
            output.line(
                "\(verb) \(paths.map(\.string).joined(separator: ", ")): committed in the "
                    + "backend's store")
        } else {
            output.line(
                "\(verb) \(paths.map(\.string).joined(separator: ", ")): committed locally"
                    + (id.map { " as write \($0); pending until a backend accepts it" }
                        ?? ", which is final"))
        }
        try output.flush()
    }
}

extension LarderError {
    /// True for an error of the write itself, not of the store.
    fileprivate var isAboutWrite: Bool {
        switch kind {
        case .invalidArgument, .notFound, .alreadyExists: true
        default: false
        }
    }
}
