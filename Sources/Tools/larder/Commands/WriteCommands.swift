import ArgumentParser
import Larder
import LarderCore
import LarderModel

/// `larder set`: a document's fields, as a pending write.
struct SetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Makes a document consist of given fields; a write that pends for a backend.",
        discussion: """
            The document is durable here and in every query at once. The write stays pending \
            until a backend takes it: 'larder pending' lists it, and can take it back. Fields \
            are a JSON object as 'larder export' writes it; - reads it from standard input. \
            {"$serverTimestamp": TIME} stands for the time of the backend's commit.

            EXAMPLES
              larder set cities/SF '{"name": "San Francisco", "population": 860000}'
              larder set cities/SF '{"population": 870000}' --merge
              larder set cities/SF - <sf.json
            """)

    @Argument(help: ArgumentHelp("The document's path.", valueName: "document"))
    var path: String

    @Argument(help: ArgumentHelp("The fields, or - for standard input.", valueName: "json"))
    var fields: String

    @Flag(help: "Leave other fields as they are.")
    var merge = false

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        let path = try PathArgument.document(self.path)
        let fields = try FieldsArgument.read(self.fields)
        try await options.withDatabase(.readWrite, about: "'\(path)'") { firestore in
            let values = UserValues(firestore: firestore, databaseID: options.databaseID)
            let handle = firestore.document(path.string).enqueueSetData(
                try values.fields(fields), merge: merge)
            try await WriteReport(verb: "set", paths: [path]).print(handle, json: options.json)
        }
    }
}

/// `larder update`: some fields of a document, as a pending write.
struct UpdateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Changes fields of a document; a write that pends for a backend.",
        discussion: """
            Changes are FIELD=VALUE, fields and values as for 'larder query', and what is behind \
            the = may have blanks; or one JSON object whose names are field paths; - reads it \
            from standard input. Instead of a value: delete: removes the field, now: sets the \
            time of the commit, increment:N, min:N and max:N work on numbers, union:[...] and \
            remove:[...] on arrays. 'larder set' says what a pending write is.

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
        try await options.withDatabase(.readWrite, about: "'\(path)'") { firestore in
            let values = UserValues(firestore: firestore, databaseID: options.databaseID)
            let document = firestore.document(path.string)
            let handle = document.enqueueUpdateData(try values.changes(changes))
            try await WriteReport(verb: "updated", paths: [path]).print(handle, json: options.json)
            let known = try? await document.getDocument(source: .cache)
            if known?.exists != true {
                Messages.line(
                    "larder: \(path) is not in the store: the update changes nothing here, and "
                        + "a backend refuses it unless it has the document")
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
                        hint: "names in it are field paths, e.g. stats.area")
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
        abstract: "Deletes documents; a write that pends for a backend.",
        discussion: """
            All of them in one write, what lies below them stays. The documents are gone from \
            every query at once; until a backend has taken the write 'larder pending --cancel' \
            brings them back.

            EXAMPLES
              larder delete cities/SF
              larder delete cities/SF cities/LA
            """)

    @Argument(help: ArgumentHelp("Paths of documents.", valueName: "document"))
    var paths: [String]

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        let paths = try self.paths.map(PathArgument.document)
        try await options.withDatabase(.readWrite) { firestore in
            let batch = firestore.batch()
            for path in paths { batch.deleteDocument(firestore.document(path.string)) }
            try await WriteReport(verb: "deleted", paths: paths)
                .print(batch.enqueueCommit(), json: options.json)
        }
    }
}

/// The fields of a document on the command line or on standard input.
enum FieldsArgument {
    /// What is read at most: far above what a document may hold.
    private static let maxBytes = 8 * 1024 * 1024

    /// Reads a JSON object; `-` stands for standard input.
    static func read(_ argument: String) throws -> MapValue {
        let isInput = argument == "-"
        let bytes =
            isInput
            ? try InputText.read(descriptor: 0, named: "standard input", maxBytes: maxBytes)
            : Array(argument.utf8)
        do throws(JSONError) {
            return try bytes.withUnsafeBufferPointer { (bytes) throws(JSONError) in
                try TypedJSONReader.map(
                    of: try TypedJSONReader.readObject(bytes, options: TypedJSONReader.Options()),
                    at: 0)
            }
        } catch {
            throw ToolError(
                .badData,
                "\(isInput ? "standard input" : "the fields"), byte \(error.offset + 1): "
                    + error.reason, hint: #"give a JSON object, e.g. '{"name": "San Francisco"}'"#)
        }
    }
}

/// What a command says of the write that it made.
struct WriteReport {
    /// What was done to the documents.
    let verb: String
    /// The documents.
    let paths: [DocumentPath]

    /// Waits until the write is durable, and prints its number.
    ///
    /// - Throws: a data error that names the document when the write was refused.
    func print(_ handle: WriteHandle, json: Bool) async throws {
        let id: Int64?
        do throws(LarderError) {
            id = try await handle.committedLocally()
        } catch {
            let subject = paths.map { "'\($0)'" }.joined(separator: ", ")
            guard error.kind == .invalidArgument else { throw error }
            throw ToolError(.badData, "\(subject): \(error.message)", hint: "nothing was written")
        }
        let output = Output.standard()
        if json {
            output.line([
                "write": id.map { .integer($0) } ?? .null,
                "documents": .array(paths.map { .string($0.string) }),
                "state": .string("pending"),
            ])
        } else {
            let number = id.map { " as write \($0)" } ?? ""
            output.line(
                "\(verb) \(paths.map(\.string).joined(separator: ", ")): committed "
                    + "locally\(number); pending until a backend takes it")
        }
        try output.flush()
    }
}
