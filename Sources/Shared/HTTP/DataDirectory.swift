package import Foundation
package import LarderCore

/// The directory of a server's databases, locked while the value lives.
///
/// The lock is on the directory itself, by `flock`: a killed process leaves none behind, and no
/// lock file lies among the folders of projects.
package struct DataDirectory: ~Copyable {
    private let descriptor: CInt

    /// Creates the directory if it is absent, locks it, and checks that it is writable.
    ///
    /// A full disk is accepted: existing databases can be read.
    ///
    /// - Throws: `unavailable` with the reason: not a directory, not writable, or locked by another
    ///   server.
    package init(_ path: String) throws(LarderError) {
        descriptor = try Self.opened(path)
    }

    deinit {
        // Closing alone would leave the lock to programs that are just being started.
        flock(descriptor, LOCK_UN)
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
        if let reason = create(path) { throw unusable(path, "it cannot be created: \(reason)") }
    }

    /// Creates a directory and those above it that do not exist; blocks on disk I/O.
    ///
    /// - Parameter mode: the permissions, of which the process's mask takes some; those of the owner
    ///   alone by default.
    /// - Returns: why it cannot be created, in words; nil if it exists now.
    package static func create(_ path: String, mode: mode_t = 0o700) -> String? {
        if mkdir(path, mode) == 0 { return nil }
        var code = errno
        let parent = (path as NSString).deletingLastPathComponent
        if code == ENOENT, !parent.isEmpty, parent != path {
            if let reason = create(parent, mode: mode) { return reason }
            if mkdir(path, mode) == 0 { return nil }
            code = errno
        }
        var isDirectory: ObjCBool = false
        if code == EEXIST, FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory),
            isDirectory.boolValue
        {
            return nil
        }
        return reason(code)
    }

    private static func lock(_ descriptor: CInt, _ path: String) throws(LarderError) {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            if code == EINTR { continue }
            guard code == EWOULDBLOCK else { throw unusable(path, "locking: \(reason(code))") }
            throw unusable(path, "another larderd is using it")
        }
    }

    /// Creates a folder and removes it: permissions alone do not decide.
    private static func checkWritable(_ path: String) throws(LarderError) {
        // No project's folder begins with a dot.
        var template = Array("\(path)/.larderd-XXXXXX".utf8CString)
        guard mkdtemp(&template) == nil else {
            rmdir(template)
            return
        }
        let code = errno
        guard code == ENOSPC || code == EDQUOT else {
            throw unusable(path, "it is not writable: \(reason(code))")
        }
    }

    private static func unusable(_ path: String, _ reason: String) -> LarderError {
        LarderError(
            .unavailable, "the data directory '\(path)' cannot be used: \(reason)",
            domain: LarderError.sharedDomain)
    }

    private static func reason(_ code: CInt) -> String { String(cString: strerror(code)) }
}

// MARK: - Folders

/// The folder of something that clients have named.
///
/// Letters, digits, `-`, `_`, `(`, `)` and `.` are kept, except a leading dot; every other byte
/// becomes `%` and two hexadecimal digits. So no name escapes its directory, and no two names share
/// a folder.
package enum FolderName {
    /// File systems limit names to 255 bytes.
    private static let maxBytes = 240

    /// The folder of a name.
    ///
    /// - Throws: `invalidArgument` for an empty name, and one that is too long for a file system.
    package static func folder(of name: String) throws(LarderError) -> String {
        var folder = ""
        for (position, byte) in name.utf8.enumerated() {
            if isPlain(byte), byte != UInt8(ascii: ".") || position > 0 {
                folder.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                folder += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        guard !folder.isEmpty, folder.utf8.count <= maxBytes else {
            throw LarderError(
                .invalidArgument,
                "the name '\(name.prefix(100))' of a database is too long or empty",
                domain: LarderError.sharedDomain)
        }
        return folder
    }

    /// The name of a folder; nil for one that no name has.
    package static func name(of folder: String) -> String? {
        guard let name = PercentText.decoded(folder), (try? self.folder(of: name)) == folder
        else { return nil }
        return name
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-_().".utf8.contains(byte)
        }
    }
}
