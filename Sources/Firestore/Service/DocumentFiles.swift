import Foundation
import LarderBackend
import LarderDocumentJSON
import LarderHTTP
import LarderModel

/// Databases as files of JSON lines, `PROJECT/DATABASE.ndjson` each, see
/// ``LarderDocumentJSON/DocumentLine``.
///
/// The names are those of the folders in a data directory. A directory that is imported has the files
/// in its folder `document_export`, beside those of Realtime Databases.
struct DocumentFiles {
    private static let exportFolder = "document_export"
    private static let suffix = ".ndjson"

    /// A database with the file that has it.
    struct File: Equatable {
        let database: DatabaseID
        let path: String
    }

    /// The files at a path: a file, or those of a directory, in the order of their names.
    ///
    /// - Returns: none for a file with another ending.
    /// - Throws: `invalidArgument` if there is nothing at the path, and for a file whose name is not
    ///   that of a database.
    static func files(at path: String) throws(LarderError) -> [File] {
        guard FileManager.default.fileExists(atPath: path) else {
            throw .invalidArgument("'\(path)' does not exist")
        }
        guard isFolder(path) else { return path.hasSuffix(suffix) ? [try file(at: path)] : [] }
        let directory = "\(path)/\(exportFolder)"
        var files: [File] = []
        for name in names(in: directory) {
            let entry = "\(directory)/\(name)"
            if isFolder(entry) {
                for name in names(in: entry) where name.hasSuffix(suffix) {
                    files.append(try file(at: "\(entry)/\(name)"))
                }
            } else if name.hasSuffix(suffix) {
                throw .invalidArgument(
                    "'\(entry)' is not in the folder of a project: \(exportFolder)/PROJECT/\(name)")
            }
        }
        return files
    }

    private static func isFolder(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            && isDirectory.boolValue
    }

    /// The names in a directory, in order; none of files that are hidden, such as incomplete ones.
    private static func names(in directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { !$0.hasPrefix(".") }.sorted()
    }

    private static func file(at path: String) throws(LarderError) -> File {
        let url = URL(fileURLWithPath: path).standardizedFileURL
        let folders = [
            url.deletingLastPathComponent().lastPathComponent,
            String(url.lastPathComponent.dropLast(suffix.count)),
        ]
        let names = folders.compactMap(FolderName.name)
        guard names.count == folders.count else {
            let expected = folders.map { (try? FolderName.folder(of: $0)) ?? "NAME" }
            throw .invalidArgument(
                "'\(path)' is not named PROJECT/DATABASE\(suffix) as in the data directory: "
                    + "rename it to \(expected.joined(separator: "/"))\(suffix)")
        }
        return File(database: DatabaseID(project: names[0], database: names[1]), path: path)
    }

    // MARK: Export

    /// Writes the documents of a database in a directory, in place of an earlier file; of a database
    /// without documents only then.
    ///
    /// Blocks. All documents are of one snapshot.
    ///
    /// - Throws: `unavailable` or `resourceExhausted` if the file cannot be written, in which case
    ///   an earlier one is kept; `dataLoss` for a damaged document.
    static func write(
        _ backend: Backend, of id: DatabaseID, to target: ExportTarget
    ) throws(LarderError) {
        let name = "\(exportFolder)/\(try DatabaseFolder(id).path)\(suffix)"
        let path = "\(target.directory)/\(name)"
        if try backend.documentCount() == 0, !FileManager.default.fileExists(atPath: path) {
            return
        }
        let file = try ExportFile(name, in: target)
        do throws(LarderError) {
            try backend.forEachDocument { (path, fields) throws(LarderError) in
                try file.append { DocumentLine.append(path, fields, to: &$0) }
            }
            try file.finish()
        } catch {
            file.discard()
            throw error
        }
    }
}
