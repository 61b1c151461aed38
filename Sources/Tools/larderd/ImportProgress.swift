import Foundation

/// A line on the terminal about a file that is imported.
enum ImportProgress {
    /// What shows the line; nil if standard error is no terminal.
    static var handler: (@Sendable (_ path: String, _ doneBytes: Int, _ totalBytes: Int) -> Void)? {
        guard isatty(STDERR_FILENO) != 0 else { return nil }
        return { path, done, total in
            let url = URL(fileURLWithPath: path)
            // The name of a database's file is in most cases the same, "(default).ndjson".
            let folder =
                url.pathExtension == "ndjson"
                ? "\(url.deletingLastPathComponent().lastPathComponent)/" : ""
            let name = folder + url.lastPathComponent
            let end = done == total ? "\n" : ""
            let line = "\rimporting \(name): \(done >> 20) of \(total >> 20) MiB\(end)"
            FileHandle.standardError.write(Data(line.utf8))
        }
    }
}
