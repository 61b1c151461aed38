#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// System calls.
enum System {
    /// Writes all bytes, retrying after interrupts; nil on success.
    static func write(
        _ bytes: UnsafeRawBufferPointer, to descriptor: Int32
    ) -> SystemFailure? {
        var rest = bytes
        while !rest.isEmpty {
            let count = posixWrite(descriptor, rest.baseAddress, rest.count)
            if count > 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else if count < 0 && errno != EINTR {
                return SystemFailure(number: errno)
            }
        }
        return nil
    }

    /// Reads up to the buffer's size; 0 at the end of the input.
    ///
    /// An interrupt by the user ends a read like the end of the input.
    static func read(
        _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemFailure) -> Int {
        while true {
            let count = posixRead(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            if errno == EINTR {
                if Interruption.isRequested { return 0 }
                continue
            }
            throw SystemFailure(number: errno)
        }
    }

    static func openToRead(_ path: String) throws(SystemFailure) -> Int32 {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemFailure(number: errno) }
        if fileStatus(descriptor).map({ $0.st_mode & S_IFMT == S_IFDIR }) ?? false {
            Self.close(descriptor)
            throw SystemFailure(number: EISDIR)
        }
        return descriptor
    }

    /// Creates a new file with the permissions of the umask.
    static func createNew(_ path: String) throws(SystemFailure) -> Int32 {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw SystemFailure(number: errno) }
        return descriptor
    }

    static func close(_ descriptor: Int32) {
        _ = posixClose(descriptor)
    }

    /// The size of a regular file; nil for a pipe, a terminal and the like.
    static func regularFileSize(_ descriptor: Int32) -> Int64? {
        guard let status = fileStatus(descriptor), status.st_mode & S_IFMT == S_IFREG else {
            return nil
        }
        return Int64(status.st_size)
    }

    /// Bytes of the regular files directly in a directory.
    static func directoryBytes(_ path: String) -> Int64 {
        guard let directory = opendir(path) else { return 0 }
        defer { closedir(directory) }
        var sum: Int64 = 0
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            var status = stat()
            if lstat(path + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
                sum += Int64(status.st_size)
            }
        }
        return sum
    }

    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Syncs a file to disk.
    static func synchronize(_ descriptor: Int32) throws(SystemFailure) {
        guard fsync(descriptor) == 0 else { throw SystemFailure(number: errno) }
    }

    /// Replaces a file atomically.
    static func rename(_ path: String, to target: String) throws(SystemFailure) {
        guard posixRename(path, target) == 0 else { throw SystemFailure(number: errno) }
    }

    /// Removes a file if it exists.
    static func remove(_ path: String) {
        _ = unlink(path)
    }

    static func isTerminal(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1
    }

    /// The width of a terminal; 80 if it is unknown.
    static func terminalColumns(_ descriptor: Int32) -> Int {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    static func monotonicNanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    static var processNumber: Int32 { getpid() }

    private static func fileStatus(_ descriptor: Int32) -> stat? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status : nil
    }
}

/// A failed call of the operating system.
struct SystemFailure: Error, CustomStringConvertible {
    /// The system's number, `errno`.
    let number: Int32

    var description: String { String(cString: strerror(number)) }

    /// Whether a component of the file's path does not exist.
    var isMissing: Bool { number == ENOENT || number == ENOTDIR }

    var isDenied: Bool { number == EACCES || number == EPERM }

    /// Whether the reader of the output has exited.
    var isClosedPipe: Bool { number == EPIPE }
}

private func posixWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}

private func posixRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int
{
    read(descriptor, bytes, count)
}

private func posixClose(_ descriptor: Int32) -> Int32 {
    close(descriptor)
}

private func posixRename(_ path: String, _ target: String) -> Int32 {
    rename(path, target)
}

/// Reading of whole texts.
enum InputText {
    /// Reads a file, or standard input for `-`.
    static func read(_ file: String, maxBytes: Int) throws -> [UInt8] {
        if file == "-" {
            return try read(descriptor: 0, named: "standard input", maxBytes: maxBytes)
        }
        let descriptor = try open(file)
        defer { System.close(descriptor) }
        return try read(descriptor: descriptor, named: "'\(file)'", maxBytes: maxBytes)
    }

    /// A descriptor to read a file from, 0 for `-`; the caller closes it.
    static func open(_ file: String) throws -> Int32 {
        if file == "-" { return 0 }
        do throws(SystemFailure) {
            return try System.openToRead(file)
        } catch {
            throw ToolError(
                error.isDenied ? .noPermission : .noInput, "cannot read '\(file)': \(error)",
                hint: "name a file, or - for standard input")
        }
    }

    static func read(descriptor: Int32, named name: String, maxBytes: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        do throws(SystemFailure) {
            while true {
                let count = try buffer.withUnsafeMutableBufferPointer {
                    (buffer) throws(SystemFailure) in
                    try System.read(descriptor, into: UnsafeMutableRawBufferPointer(buffer))
                }
                if count == 0 { return bytes }
                bytes += buffer.prefix(count)
                if bytes.count > maxBytes { break }
            }
        } catch {
            throw ToolError(.inputOutput, "cannot read \(name): \(error)")
        }
        throw ToolError(
            .badData, "\(name) has more than \(ByteSize(Int64(maxBytes)).text)",
            hint: "'larder import' reads large files")
    }
}

/// A file that is replaced atomically: written to a temporary file, which is renamed when it is
/// complete.
final class ReplacedFile {
    let output: Output

    private let path: String
    private let temporaryPath: String
    private let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        temporaryPath = "\(path).\(System.processNumber).tmp"
        do throws(SystemFailure) {
            descriptor = try System.createNew(temporaryPath)
        } catch {
            throw ToolError(
                error.isDenied ? .noPermission : .cannotCreate, "cannot create \(path): \(error)",
                hint: "choose another file with --output")
        }
        output = Output(descriptor: descriptor, name: path)
    }

    deinit {
        System.close(descriptor)
    }

    /// Syncs and renames the temporary file.
    func finish() throws {
        try output.flush()
        do throws(SystemFailure) {
            try System.synchronize(descriptor)
            try System.rename(temporaryPath, to: path)
        } catch {
            throw ToolError(.inputOutput, "cannot write \(path): \(error)")
        }
    }

    /// Removes the temporary file.
    func discard() {
        System.remove(temporaryPath)
    }
}
