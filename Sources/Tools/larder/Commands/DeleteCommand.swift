import ArgumentParser
import Larder
import LarderModel

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
