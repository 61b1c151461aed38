package import LarderCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Numbered locks of the clients of a store, each held by at most one client.
///
/// A client loses its locks when its process ends, however that happens, and at no other time: a
/// lock that can be taken proves that its holder is gone.
package protocol ClientLocks: Sendable {
    /// Takes a lock.
    ///
    /// - Parameter number: 1 or more.
    /// - Returns: false if another client has it.
    func acquire(_ number: Int64) -> Bool

    /// Releases a lock.
    func release(_ number: Int64)

    /// True if another client has a lock.
    func isHeldByOther(_ number: Int64) -> Bool
}

/// Locks on the bytes of the file that a store's owners lock, of which byte 0 is the store's own.
///
/// They are locks of the open file, so that clients of one process exclude each other, too.
package final class FileLocks: ClientLocks {
    private let descriptor: CInt

    /// The locks of a store's clients.
    ///
    /// - Throws: `unavailable` when the file cannot be opened.
    package init(directory: String, errorDomain: String) throws(LarderError) {
        let path = directory + "/owner.lock"
        descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            let code = errno
            throw LarderError(
                .unavailable, "cannot open '\(path)': \(String(cString: strerror(code)))",
                condition: .io, systemCode: code, domain: errorDomain)
        }
    }

    deinit {
        // Closing alone would leave the locks to programs that are just being started.
        var all = range(0, F_UNLCK)
        all.l_len = 0
        _ = fcntl(descriptor, Self.setLock, &all)
        close(descriptor)
    }

    package func acquire(_ number: Int64) -> Bool {
        var lock = range(number, F_WRLCK)
        return fcntl(descriptor, Self.setLock, &lock) == 0
    }

    package func release(_ number: Int64) {
        var lock = range(number, F_UNLCK)
        _ = fcntl(descriptor, Self.setLock, &lock)
    }

    package func isHeldByOther(_ number: Int64) -> Bool {
        var lock = range(number, F_WRLCK)
        // What cannot be found out counts as held.
        return fcntl(descriptor, Self.getLock, &lock) != 0 || Int32(lock.l_type) != F_UNLCK
    }

    private func range(_ number: Int64, _ type: CInt) -> flock {
        var lock = flock()
        lock.l_type = CShort(type)
        lock.l_whence = CShort(SEEK_SET)
        lock.l_start = off_t(number)
        lock.l_len = 1
        return lock
    }

    // Open-file-description locks; the names are no constants that Swift imports everywhere.
    #if os(Linux)
        private static let getLock: CInt = 36
        private static let setLock: CInt = 37
    #else
        private static let setLock: CInt = 90
        private static let getLock: CInt = 92
    #endif
}
