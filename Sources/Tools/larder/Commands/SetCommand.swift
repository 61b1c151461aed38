import ArgumentParser
import Larder
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
