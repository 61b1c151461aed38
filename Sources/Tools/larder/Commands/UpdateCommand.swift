import ArgumentParser
import Larder
import LarderModel

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
