import LarderModel

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Tells clients of several processes of commits: writes to a file that all of them watch.
///
/// The file is the one that a store's owners lock; its bytes mean nothing.
final class FileSignal: StoreSignal {
    private let path: String
    private let descriptor: CInt

    /// A signal for the clients of a store.
    ///
    /// - Throws: `unavailable` when the file cannot be written.
    init(directory: String) throws(LarderError) {
        path = directory + "/owner.lock"
        descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let code = errno
            throw LarderError(
                .unavailable, "cannot write '\(path)': \(String(cString: strerror(code)))",
                condition: .io, systemCode: code)
        }
    }

    deinit {
        close(descriptor)
    }

    func announce(from clientID: String) {
        var byte: UInt8 = 0
        // What is lost here is heard of when the others look by themselves.
        _ = pwrite(descriptor, &byte, 1, 0)
    }

    func listen(
        as clientID: String, on scheduler: any Scheduler, _ body: @escaping @Sendable () -> Void
    ) throws(LarderError) -> AnyObject {
        try scheduler.watch(path, body)
    }
}
