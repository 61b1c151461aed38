import ArgumentParser
import Foundation
import LarderCore
import LarderHTTP
import LarderModel
import LarderRealtimeServer
import LarderServer
import Synchronization

/// Files that databases come from and go to.
struct DataFileOptions: ParsableArguments {
    @Option(
        name: .customLong("import"),
        help: ArgumentHelp(
            "Fills databases without data: a file NAMESPACE.json of a Realtime Database, one of "
                + "another name as NAMESPACE=FILE, PROJECT/DATABASE.ndjson of documents, or a "
                + "directory of such files as --export-on-exit writes it.",
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

    /// Where databases are exported to; nil for nowhere.
    private func exportTarget(_ exported: ExportedBytes) -> ExportTarget? {
        exportOnExit.map { ExportTarget($0) { exported.add($0) } }
    }

    func apply(
        to configuration: inout ServerConfiguration, _ exported: ExportedBytes
    ) throws(LarderError) {
        configuration.importProgress = ImportProgress.handler
        configuration.exportTarget = exportTarget(exported)
        guard let importPath else { return }
        // A namespace and its file, which is none of documents.
        if importPath.contains("="), !FileManager.default.fileExists(atPath: importPath) { return }
        if try ServerConfiguration.hasImports(at: importPath) {
            configuration.importPath = importPath
        } else if !RealtimeServerConfiguration.hasImports(at: importPath) {
            guard !RealtimeServerConfiguration.hasEmulatorDocuments(at: importPath) else {
                throw .invalidArgument(
                    "'\(importPath)' has documents that Google's Firestore emulator exported "
                        + "(firestore_export, records of LevelDB), which larderd does not read: copy "
                        + "them with a client, or write them to PROJECT/DATABASE.ndjson")
            }
            throw .invalidArgument(
                "'\(importPath)' has no files NAMESPACE.json or "
                    + "document_export/PROJECT/DATABASE.ndjson")
        }
    }

    /// What an abandoned shutdown means for the export, after a message; empty without one.
    var abandonedText: String {
        exportOnExit.map { "; not all databases are exported to '\($0)'" } ?? ""
    }

    func apply(to configuration: inout RealtimeServerConfiguration, _ exported: ExportedBytes) {
        configuration.importProgress = ImportProgress.handler
        configuration.exportTarget = exportTarget(exported)
        guard let importPath, !importPath.hasSuffix(".ndjson") || importPath.contains("="),
            RealtimeServerConfiguration.hasImports(at: importPath)
        else { return }
        configuration.importPath = importPath
    }
}

/// Counts the bytes that exports have written; safe to use from any thread.
final class ExportedBytes: Sendable {
    private let bytes = Atomic<Int>(0)

    var count: Int { bytes.load(ordering: .relaxed) }

    func add(_ count: Int) {
        bytes.add(count, ordering: .relaxed)
    }
}
