package import Dispatch
package import LarderCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Calls a closure when a file is written to, by whichever process.
///
/// Several writes shortly after each other may give one call.
package final class FileWatch: @unchecked Sendable {
    // The source does not change after initialisation, and any thread may cancel it.
    private let source: any DispatchSourceProtocol

    /// Watches a file until this object goes.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - queue: where the closure is called.
    ///   - errorDomain: the domain of errors: that of the database which watches.
    ///   - onChange: called for each change.
    /// - Throws: `resourceExhausted` when the system has no more watches to give.
    package init(
        path: String, queue: DispatchQueue, errorDomain: String,
        onChange: @escaping @Sendable () -> Void
    ) throws(LarderError) {
        #if os(Linux)
            let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            guard descriptor >= 0 else { throw Self.failure(path, errorDomain) }
            guard inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) >= 0 else {
                let failure = Self.failure(path, errorDomain)
                close(descriptor)
                throw failure
            }
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler {
                // The events say nothing more than that there were some.
                var bytes = [UInt8](repeating: 0, count: 4096)
                while read(descriptor, &bytes, bytes.count) > 0 {}
                onChange()
            }
        #else
            let descriptor = open(path, O_EVTONLY)
            guard descriptor >= 0 else { throw Self.failure(path, errorDomain) }
            let source = DispatchSource.makeFileSystemObjectSource(
                fileDescriptor: descriptor, eventMask: [.write, .extend], queue: queue)
            source.setEventHandler(handler: onChange)
        #endif
        source.setCancelHandler { close(descriptor) }
        self.source = source
        source.resume()
    }

    deinit {
        source.cancel()
    }

    private static func failure(_ path: String, _ domain: String) -> LarderError {
        let code = errno
        return LarderError(
            .resourceExhausted, "cannot watch '\(path)': \(String(cString: strerror(code)))",
            condition: .io, systemCode: code, domain: domain)
    }
}
