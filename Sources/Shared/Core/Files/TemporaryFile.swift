import Foundation
import Synchronization

/// Bytes in a file that has no name: the system removes it with its last use, also when the process
/// is killed.
///
/// Written from one thread at a time; read once everything is written.
package final class TemporaryFile: Sendable {
    private static let copyBytes = 1 << 20

    private let descriptor: CInt
    private let size = Atomic<Int>(0)

    /// Creates an empty file in a directory.
    ///
    /// - Throws: `unavailable` if the file cannot be created.
    package init(in directory: String) throws(LarderError) {
        var template = Array("\(directory)/.body-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        guard descriptor >= 0 else {
            throw Self.failure("a temporary file cannot be created in '\(directory)'", errno)
        }
        unlink(template)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    /// Copies a file, which another process may change meanwhile.
    ///
    /// - Throws: `invalidArgument` if the file cannot be read; as ``append(_:)`` throws.
    package convenience init(copying path: String, in directory: String) throws(LarderError) {
        try self.init(in: directory)
        let source = open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw Self.unreadable(path) }
        defer { _ = Foundation.close(source) }
        var buffer = [UInt8](repeating: 0, count: Self.copyBytes)
        while true {
            let count = Foundation.read(source, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.unreadable(path) }
            guard count > 0 else { return }
            try buffer.withUnsafeBufferPointer { (bytes) throws(LarderError) in
                try append(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[..<count])))
            }
        }
    }

    deinit {
        _ = Foundation.close(descriptor)
    }

    /// The size in bytes.
    package var count: Int { size.load(ordering: .acquiring) }

    /// Appends bytes; blocks on disk I/O.
    ///
    /// - Throws: `resourceExhausted` if the disk is full, `unavailable` for other system errors.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(LarderError) {
        var written = 0
        defer { size.add(written, ordering: .releasing) }
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw Self.failure("a temporary file cannot be written", errno)
            }
            written += count
        }
    }

    /// Calls a closure with all bytes, which are read into memory first.
    ///
    /// The file is not mapped: an I/O error of the disk under a map would end the process.
    ///
    /// - Throws: `unavailable` if the file cannot be read, or there is no memory for it.
    package func withText<R>(_ body: (FileText) -> R) throws(LarderError) -> R {
        let count = count
        guard count > 0 else {
            return body(FileText(self, UnsafeMutableRawBufferPointer(start: nil, count: 0)))
        }
        guard
            let start = mmap(
                nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            start != MAP_FAILED
        else { throw Self.failure("there is no memory for a temporary file", errno) }
        defer { munmap(start, count) }
        let text = FileText(self, UnsafeMutableRawBufferPointer(start: start, count: count))
        try text.readAgain()
        return body(text)
    }

    /// Reads the beginning of the file.
    fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) throws(LarderError) {
        var offset = 0
        while offset < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[offset...])
            let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw Self.failure("a temporary file cannot be read", count < 0 ? errno : EIO)
            }
            offset += count
        }
    }

    private static func unreadable(_ path: String) -> LarderError {
        LarderError(
            .invalidArgument, "the file '\(path)' cannot be read", domain: LarderError.sharedDomain)
    }

    private static func failure(_ message: String, _ code: CInt) -> LarderError {
        LarderError(
            code == ENOSPC || code == EDQUOT ? .resourceExhausted : .unavailable,
            "\(message): \(String(cString: strerror(code)))", systemCode: code,
            domain: LarderError.sharedDomain)
    }
}

/// The bytes of a temporary file in memory, for one reader from the beginning to the end.
package final class FileText {
    /// The memory that a reader leaves behind before it is released.
    private static let stepBytes = 4 << 20

    private let file: TemporaryFile
    private let memory: UnsafeMutableRawBufferPointer
    private var releasedBytes = 0

    fileprivate init(_ file: TemporaryFile, _ memory: UnsafeMutableRawBufferPointer) {
        self.file = file
        self.memory = memory
    }

    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }

    /// Releases the memory of what was read, whose bytes are zero from then on.
    package func passed(_ offset: Int) {
        guard offset - releasedBytes >= Self.stepBytes, let start = memory.baseAddress else {
            return
        }
        // Steps are multiples of the size of a page.
        let count = (offset - releasedBytes) / Self.stepBytes * Self.stepBytes
        madvise(start + releasedBytes, count, MADV_DONTNEED)
        releasedBytes += count
    }

    /// Reads again what was released.
    ///
    /// - Throws: `unavailable` if the file cannot be read.
    package func readAgain() throws(LarderError) {
        try file.read(into: memory)
        releasedBytes = 0
    }
}
