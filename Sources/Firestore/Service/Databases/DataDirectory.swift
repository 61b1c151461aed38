import Foundation
import LarderModel

/// The directory of a server's databases, locked for this server while it runs.
///
/// The lock is on the directory itself, by `flock`, so that nothing is left of it when a process
/// is killed, and no file lies among the folders of projects.
struct DataDirectory: ~Copyable {
    private let descriptor: CInt

    /// Makes the directory where it is absent, proves that databases can be made in it, and locks
    /// it.
    ///
    /// A full disk is no reason to refuse: what is there can be read.
    ///
    /// - Throws: `unavailable` with the reason: it is no directory or may not be written, or
    ///   another server has it.
    init(_ path: String) throws(LarderError) {
        descriptor = try Self.opened(path)
    }

    deinit {
        close(descriptor)
    }

    private static func opened(_ path: String) throws(LarderError) -> CInt {
        try make(path)
        let opened = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard opened >= 0 else { throw unusable(path, reason(errno)) }
        do throws(LarderError) {
            try lock(opened, path)
            try checkWritable(path)
        } catch {
            close(opened)
            throw error
        }
        return opened
    }

    private static func make(_ path: String) throws(LarderError) {
        var isDirectory: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) {
            guard isDirectory.boolValue else { throw unusable(path, "it is not a directory") }
            return
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            let code = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            throw unusable(
                path,
                "it cannot be made: " + (code.map { reason(CInt($0.code)) } ?? "\(error)"))
        }
    }

    private static func lock(_ descriptor: CInt, _ path: String) throws(LarderError) {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            if code == EINTR { continue }
            guard code == EWOULDBLOCK else { throw unusable(path, "locking: \(reason(code))") }
            throw unusable(path, "another larderd is using it")
        }
    }

    /// Makes a folder and removes it: what permissions say is not all that there is.
    private static func checkWritable(_ path: String) throws(LarderError) {
        // No project's folder begins with a dot.
        var template = Array("\(path)/.larderd-XXXXXX".utf8CString)
        guard mkdtemp(&template) == nil else {
            rmdir(template)
            return
        }
        let code = errno
        guard code == ENOSPC || code == EDQUOT else {
            throw unusable(path, "it cannot be written: \(reason(code))")
        }
    }

    private static func unusable(_ path: String, _ reason: String) -> LarderError {
        LarderError(.unavailable, "the data directory '\(path)' cannot be used: \(reason)")
    }

    private static func reason(_ code: CInt) -> String { String(cString: strerror(code)) }
}
