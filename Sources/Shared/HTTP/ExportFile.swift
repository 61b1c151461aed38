import Foundation
package import LarderCore

/// Where the databases of a server are exported to when it stops.
package struct ExportTarget: Sendable {
    package let directory: String
    /// Called with the count of bytes after each write to a file, on the thread that writes.
    package let progress: (@Sendable (_ bytes: Int) -> Void)?

    package init(_ directory: String, progress: (@Sendable (_ bytes: Int) -> Void)? = nil) {
        self.directory = directory
        self.progress = progress
    }
}

/// A file that takes the place of an earlier one once it is complete and on disk.
///
/// Until then it has the name `.NAME.tmp`. A process that is killed leaves it behind for the next
/// export to overwrite.
package final class ExportFile {
    private static let partBytes = 64 << 10
    /// The bytes after which they are flushed to the disk, so that the last flush is short.
    private static let flushedBytes = 16 << 20

    private let path: String
    private let temporaryPath: String
    private let folder: String
    private let descriptor: CInt
    private let progress: (@Sendable (_ bytes: Int) -> Void)?
    private var buffer: [UInt8] = []
    private var unflushedBytes = 0

    /// Creates the file, and its folder if that does not exist.
    ///
    /// - Parameter name: its path in the directory of the export.
    /// - Throws: `unavailable` or `resourceExhausted` for system errors.
    package init(_ name: String, in target: ExportTarget) throws(LarderError) {
        progress = target.progress
        path = "\(target.directory)/\(name)"
        let url = URL(fileURLWithPath: path)
        folder = url.deletingLastPathComponent().path
        temporaryPath = "\(folder)/.\(url.lastPathComponent).tmp"
        if let reason = DataDirectory.create(folder, mode: 0o777) {
            throw LarderError(
                .unavailable, "the directory '\(folder)' cannot be created: \(reason)",
                domain: LarderError.sharedDomain)
        }
        descriptor = open(temporaryPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw Self.failure(path, errno) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Appends what a closure appends to bytes.
    package func append(_ body: (inout [UInt8]) -> Void) throws(LarderError) {
        body(&buffer)
        if buffer.count >= Self.partBytes { try write() }
    }

    /// Replaces the earlier file.
    package func finish() throws(LarderError) {
        try write()
        guard fsync(descriptor) == 0, rename(temporaryPath, path) == 0 else {
            throw Self.failure(path, errno)
        }
        // The name is on disk once its folder is; some file systems do not flush folders.
        let opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard opened >= 0 else { return }
        fsync(opened)
        close(opened)
    }

    /// Removes an incomplete file.
    package func discard() {
        unlink(temporaryPath)
    }

    private func write() throws(LarderError) {
        var written = 0
        while written < buffer.count {
            let count = buffer[written...].withUnsafeBytes {
                Foundation.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure(path, errno) }
            written += count
            progress?(count)
        }
        unflushedBytes += written
        if unflushedBytes >= Self.flushedBytes {
            guard fsync(descriptor) == 0 else { throw Self.failure(path, errno) }
            unflushedBytes = 0
        }
        buffer.removeAll(keepingCapacity: true)
    }

    private static func failure(_ path: String, _ code: CInt) -> LarderError {
        LarderError(
            code == ENOSPC || code == EDQUOT ? .resourceExhausted : .unavailable,
            "'\(path)' cannot be written: \(String(cString: strerror(code)))",
            domain: LarderError.sharedDomain)
    }
}
