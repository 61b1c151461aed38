package import LarderCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Wakes the clients of a store after each other's commits.
///
/// Signals may be spurious, and may be lost when a process ends: clients also poll the store.
package protocol StoreSignal: Sendable {
    /// Wakes every client but the one that has made a commit.
    func announce(from clientID: String)

    /// Calls a closure on a client's executor after commits of others, until the result is
    /// released.
    ///
    /// - Throws: `resourceExhausted` when the system has no more watches to give.
    func listen(
        as clientID: String, on scheduler: any Scheduler, _ body: @escaping @Sendable () -> Void
    ) throws(LarderError) -> AnyObject
}

/// Wakes clients of several processes by writing to a file that all of them watch.
///
/// The file is the one that a store's owners lock; its bytes mean nothing.
package final class FileSignal: StoreSignal {
    private let path: String
    private let descriptor: CInt

    /// A signal for the clients of a store.
    ///
    /// - Throws: `unavailable` when the file cannot be written.
    package init(directory: String, errorDomain: String) throws(LarderError) {
        path = directory + "/owner.lock"
        descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let code = errno
            throw LarderError(
                .unavailable, "cannot write '\(path)': \(String(cString: strerror(code)))",
                condition: .io, systemCode: code, domain: errorDomain)
        }
    }

    deinit {
        close(descriptor)
    }

    package func announce(from clientID: String) {
        var byte: UInt8 = 0
        // Clients that miss it poll the store.
        _ = pwrite(descriptor, &byte, 1, 0)
    }

    package func listen(
        as clientID: String, on scheduler: any Scheduler, _ body: @escaping @Sendable () -> Void
    ) throws(LarderError) -> AnyObject {
        try scheduler.watch(path, body)
    }
}
