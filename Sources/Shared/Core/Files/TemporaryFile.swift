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

    /// Calls a closure with the text, of which a part is in memory at a time.
    ///
    /// The file is not mapped: an I/O error of the disk under a map would end the process.
    ///
    /// - Throws: what the closure throws; `unavailable` if the file cannot be read, or there is no
    ///   memory for it.
    package func withText<R>(
        _ body: (FileText) throws(LarderError) -> R
    ) throws(LarderError) -> R {
        let count = count
        guard count > 0 else {
            return try body(FileText(self, UnsafeMutableRawBufferPointer(start: nil, count: 0)))
        }
        // Pages take memory once they are written.
        guard
            let start = mmap(
                nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0),
            start != MAP_FAILED
        else { throw Self.failure("there is no memory for a temporary file", errno) }
        defer { munmap(start, count) }
        let text = FileText(self, UnsafeMutableRawBufferPointer(start: start, count: count))
        try text.passed(0)
        return try body(text)
    }

    /// Reads a part of the file.
    fileprivate func read(
        _ range: Range<Int>, into text: UnsafeMutableRawBufferPointer
    ) throws(LarderError) {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let rest = UnsafeMutableRawBufferPointer(rebasing: text[offset..<range.upperBound])
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

/// The text of a temporary file, for one reader from the beginning to the end.
///
/// The bytes that are not in memory are zero. No JSON text has such a byte, so a reader that comes to
/// them fails there, and begins again once ``readAll(ifNeededAt:)`` has read the whole text.
package final class FileText {
    /// The bytes that are read, and released, at a time.
    private static let stepBytes = 1 << 20
    /// The bytes that are in memory at least, before a reader that comes to their end has to begin
    /// again: more than most values have.
    private static let aheadBytes = 2 << 20
    /// A reader fails at the beginning of an escape whose end it does not find.
    private static let longestEscape = 16

    private let file: TemporaryFile
    private let memory: UnsafeMutableRawBufferPointer
    /// The bytes in memory.
    private var present = 0..<0
    private var releases = true

    fileprivate init(_ file: TemporaryFile, _ memory: UnsafeMutableRawBufferPointer) {
        self.file = file
        self.memory = memory
    }

    /// All bytes, in which those that are not in memory are zero.
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }

    /// Releases the memory of what was read, and reads what comes next.
    ///
    /// - Throws: `unavailable` if the file cannot be read.
    package func passed(_ offset: Int) throws(LarderError) {
        if releases { release(before: offset) }
        while present.upperBound < memory.count, present.upperBound - offset < Self.aheadBytes {
            let end = min(present.upperBound + Self.stepBytes, memory.count)
            try file.read(present.upperBound..<end, into: memory)
            present = present.lowerBound..<end
        }
    }

    private func release(before offset: Int) {
        // Steps are multiples of the size of a page.
        let passed = min(offset, present.upperBound) - present.lowerBound
        let count = passed / Self.stepBytes * Self.stepBytes
        guard count > 0, let start = memory.baseAddress else { return }
        madvise(start + present.lowerBound, count, MADV_DONTNEED)
        present = present.lowerBound + count..<present.upperBound
    }

    /// Reads the whole text if a reader has failed where it was not in memory; from then on nothing
    /// is released.
    ///
    /// - Parameter offset: where the reader has failed; nil to read it in any case.
    /// - Returns: true if the text was read, and the reader may begin again.
    /// - Throws: `unavailable` if the file cannot be read.
    package func readAll(ifNeededAt offset: Int? = nil) throws(LarderError) -> Bool {
        if let offset, offset + Self.longestEscape < present.upperBound { return false }
        guard present != 0..<memory.count else { return false }
        try file.read(0..<memory.count, into: memory)
        (present, releases) = (0..<memory.count, false)
        return true
    }
}
