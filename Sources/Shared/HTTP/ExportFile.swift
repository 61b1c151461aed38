import Foundation
package import LarderCore

/// A file that takes the place of an earlier one once it is complete and on disk.
///
/// Until then it has the name `.NAME.tmp`. A process that is killed leaves it behind for the next
/// export to overwrite.
package final class ExportFile {
    private static let partBytes = 64 << 10

    private let path: String
    private let temporaryPath: String
    private let folder: String
    private let descriptor: CInt
    private var buffer: [UInt8] = []

    /// Creates the file, and its folder if that does not exist.
    ///
    /// - Throws: `unavailable` or `resourceExhausted` for system errors.
    package init(_ path: String) throws(LarderError) {
        let url = URL(fileURLWithPath: path)
        folder = url.deletingLastPathComponent().path
        self.path = path
        temporaryPath = "\(folder)/.\(url.lastPathComponent).tmp"
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw LarderError(
                .unavailable, "the directory '\(folder)' cannot be created: \(error)", cause: error,
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
        if buffer.count >= Self.partBytes { try flush() }
    }

    /// Replaces the earlier file.
    package func finish() throws(LarderError) {
        try flush()
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

    private func flush() throws(LarderError) {
        var written = 0
        while written < buffer.count {
            let count = buffer.withUnsafeBytes {
                write(descriptor, $0.baseAddress.map { $0 + written }, $0.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure(path, errno) }
            written += count
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
