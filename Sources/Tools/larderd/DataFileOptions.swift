import ArgumentParser
import LarderCore
import LarderModel
import LarderRealtimeServer
import LarderServer

/// Files that databases come from and go to.
struct DataFileOptions: ParsableArguments {
    @Option(
        name: .customLong("import"),
        help: ArgumentHelp(
            "Fills databases without data: a file NAMESPACE.json of a Realtime Database or "
                + "PROJECT/DATABASE.ndjson of documents, or a directory of such files as "
                + "--export-on-exit writes it.",
            valueName: "path"))
    var importPath: String?

    @Option(
        help: ArgumentHelp(
            "Write all databases to files in this directory when the server has stopped: "
                + "document_export/PROJECT/DATABASE.ndjson and database_export/NAMESPACE.json.",
            valueName: "directory"))
    var exportOnExit: String?

    func validate() throws {
        if importPath?.isEmpty == true { throw ValidationError("--import requires a path.") }
        if exportOnExit?.isEmpty == true {
            throw ValidationError("--export-on-exit requires a directory.")
        }
    }

    func apply(to configuration: inout ServerConfiguration) throws(LarderError) {
        configuration.importProgress = ImportProgress.handler
        configuration.exportDirectory = exportOnExit
        guard let importPath else { return }
        if try ServerConfiguration.hasImports(at: importPath) {
            configuration.importPath = importPath
        } else if !RealtimeServerConfiguration.hasImports(at: importPath) {
            throw .invalidArgument(
                "'\(importPath)' has no files NAMESPACE.json or "
                    + "document_export/PROJECT/DATABASE.ndjson")
        }
    }

    /// What an abandoned shutdown means for the export, after a message; empty without one.
    var abandonedText: String {
        exportOnExit.map { "; not all databases are exported to '\($0)'" } ?? ""
    }

    func apply(to configuration: inout RealtimeServerConfiguration) {
        configuration.importProgress = ImportProgress.handler
        configuration.exportDirectory = exportOnExit
        guard let importPath, !importPath.hasSuffix(".ndjson"),
            RealtimeServerConfiguration.hasImports(at: importPath)
        else { return }
        configuration.importPath = importPath
    }
}
