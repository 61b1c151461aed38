import Synchronization

/// A closure that is called at most once, unless it is taken back before.
package final class ScheduledWork: Sendable {
    private let body: Mutex<(@Sendable () -> Void)?>

    /// Work that is to be done.
    package init(_ body: @escaping @Sendable () -> Void) {
        self.body = Mutex(body)
    }

    /// Does the work, the first time.
    package func perform() {
        take()?()
    }

    /// Takes the work back.
    package func cancel() {
        _ = take()
    }

    private func take() -> (@Sendable () -> Void)? {
        body.withLock { body in
            defer { body = nil }
            return body
        }
    }
}
