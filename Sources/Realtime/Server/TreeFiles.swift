import Foundation
import LarderCore
import LarderHTTP
import LarderRealtimeModel

/// Namespaces as JSON files, `NAMESPACE.json` each, in the export format.
///
/// A directory may be that of an export of Firebase's emulators, which has them in
/// `database_export`. A file elsewhere may have the name that Firebase's console gives to exports,
/// `NAMESPACE-export.json`.
struct TreeFiles {
    private static let exportFolder = "database_export"
    private static let suffix = ".json"
    /// What the console's names of files have after the namespace.
    private static let consoleSuffix = "-export"

    /// A namespace with the file that has it.
    struct File: Equatable {
        let namespace: String
        let path: String
    }

    /// True unless a path is a directory without files of namespaces.
    static func arePresent(at path: String) -> Bool {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory),
            isDirectory.boolValue
        else { return true }
        return (try? files(at: path)) != nil
    }

    /// True if a directory has documents in the format of Google's Firestore emulator.
    static func haveEmulatorDocuments(at path: String) -> Bool {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.contains {
            $0 == "firestore_export" || $0.hasSuffix(".overall_export_metadata")
        }
    }

    /// The files at a path: a file, one after its namespace and `=`, or those of a directory, in the
    /// order of their names.
    ///
    /// - Throws: `invalidArgument` if there is none.
    static func files(at path: String) throws(LarderError) -> [File] {
        var isDirectory: ObjCBool = false
        if let sign = path.firstIndex(of: "="), !FileManager.default.fileExists(atPath: path) {
            let (namespace, file) = (path[..<sign], String(path[path.index(after: sign)...]))
            guard !namespace.isEmpty, !namespace.contains("/"),
                FileManager.default.fileExists(atPath: file, isDirectory: &isDirectory),
                !isDirectory.boolValue
            else {
                throw LarderError(
                    realtime: .invalidArgument,
                    "'\(path)' is neither a file nor NAMESPACE=FILE with a file that exists")
            }
            return [File(namespace: String(namespace), path: file)]
        }
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw LarderError(realtime: .invalidArgument, "'\(path)' does not exist")
        }
        guard isDirectory.boolValue else {
            let url = URL(fileURLWithPath: path).standardizedFileURL
            let folder = url.deletingLastPathComponent().lastPathComponent
            guard let namespace = namespace(ofFile: url.lastPathComponent, in: folder) else {
                throw LarderError(
                    realtime: .invalidArgument,
                    "'\(path)' is not named NAMESPACE\(suffix) or PROJECT/DATABASE.ndjson: rename it, "
                        + "or write NAMESPACE=\(path)")
            }
            return [File(namespace: namespace, path: path)]
        }
        let export = "\(path)/\(exportFolder)"
        let directory = FileManager.default.fileExists(atPath: export) ? export : path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        let folder = URL(fileURLWithPath: directory).standardizedFileURL.lastPathComponent
        let files = names.sorted().compactMap { name in
            namespace(ofFile: name, in: folder).map {
                File(namespace: $0, path: "\(directory)/\(name)")
            }
        }
        guard !files.isEmpty else {
            throw LarderError(
                realtime: .invalidArgument, "'\(directory)' has no files NAMESPACE\(suffix)")
        }
        return files
    }

    /// The namespace of a file; nil for other files.
    ///
    /// - Parameter folder: the name of the folder that the file is in.
    private static func namespace(ofFile name: String, in folder: String) -> String? {
        guard name.hasSuffix(suffix), !name.hasPrefix("."),
            name != "firebase-export-metadata.json"
        else { return nil }
        var text = String(name.dropLast(suffix.count))
        // Names in folders of exports are exact.
        if folder != exportFolder, text.hasSuffix(consoleSuffix), text != consoleSuffix {
            text.removeLast(consoleSuffix.count)
        }
        return FolderName.name(of: text) ?? text
    }

    /// Reads a tree.
    ///
    /// - Parameters:
    ///   - directory: that of temporary files.
    ///   - progress: called with the path, the bytes that are read, and those of the file.
    ///   - isCancelled: is set to end the reading.
    /// - Throws: `invalidArgument` with the line and the column of what is no JSON, and for data that
    ///   is no tree; `cancelled` when the reading was ended.
    static func read(
        _ file: File, temporaryDirectory directory: String,
        progress: RealtimeServerConfiguration.ImportProgress?, isCancelled: AtomicFlag
    ) throws(LarderError) -> Node {
        let copy = try TemporaryFile(copying: file.path, in: directory)
        var shown = 0
        let result = try copy.readNodes { (text, passed) throws(NodeTextError) in
            try Node(parsing: text, ChildrenCompressor()) { (offset) throws(LarderError) in
                try passed(offset)
                guard !isCancelled.isSet else { throw Self.stopped(file) }
                guard offset - shown >= 1 << 20 else { return }
                shown = offset
                progress?(file.path, offset, copy.count)
            }
        }
        do throws(NodeTextError) {
            let node = try result.get()
            progress?(file.path, copy.count, copy.count)
            return node
        } catch {
            switch error {
            case .text(let error):
                let place = try copy.withText { (text) throws(LarderError) in
                    _ = try text.readAll()
                    return error.place(in: text.bytes)
                }
                throw LarderError(
                    realtime: .invalidArgument,
                    "\(file.path), line \(place.line), column \(place.column): \(error.reason)")
            case .data(let error):
                throw LarderError(
                    realtime: .invalidArgument, "\(file.path): \(error.message)", cause: error)
            case .stopped(let error): throw error
            }
        }
    }

    private static func stopped(_ file: File) -> LarderError {
        LarderError(
            realtime: .cancelled,
            "the server stops during the import of '\(file.path)', of which nothing is stored")
    }

    /// Writes a tree to the folder of exports, in place of an earlier file.
    ///
    /// - Throws: `unavailable` or `resourceExhausted` if the file cannot be written, in which case
    ///   an earlier one is kept.
    static func write(
        _ tree: Node, of namespace: String, to target: ExportTarget
    ) throws(LarderError) {
        let name = try FolderName.folder(of: namespace) + suffix
        let file = try ExportFile("\(exportFolder)/\(name)", in: target)
        do throws(LarderError) {
            for part in NodeText(tree, hasPriorities: true).parts {
                try file.append { $0 += part }
            }
            try file.finish()
        } catch {
            file.discard()
            throw error
        }
    }
}
