import Synchronization

/// The responses of a connection that are produced and not taken by its client; any thread may use
/// it.
///
/// Work that produces a response for a connection that is behind waits, without a thread, until the
/// client has taken enough.
package final class ResponseBacklog: Sendable {
    /// The size from which further work waits.
    package static let maxBytes = 4 << 20

    private let bytes = Atomic<Int>(0)
    private let waiting = Mutex<[@Sendable () -> Void]>([])

    package init() {}

    /// True if the client is behind.
    package var isFull: Bool { bytes.load(ordering: .sequentiallyConsistent) >= Self.maxBytes }

    /// Counts bytes of responses, or with a negative number such that the client has taken or will
    /// never take.
    package func change(by change: Int) {
        guard change != 0 else { return }
        let (old, new) = bytes.wrappingAdd(change, ordering: .sequentiallyConsistent)
        guard old >= Self.maxBytes, new < Self.maxBytes else { return }
        resume()
    }

    /// Calls a closure once the client is no longer behind, on the thread that notices.
    ///
    /// - Returns: false, without keeping the closure, if the client is not behind.
    package func waits(_ resume: @escaping @Sendable () -> Void) -> Bool {
        guard isFull else { return false }
        waiting.withLock { $0.append(resume) }
        // The client may have taken everything before the closure was added.
        if !isFull { self.resume() }
        return true
    }

    private func resume() {
        let ready = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for resume in ready { resume() }
    }
}
