package import LarderCore
import Synchronization

/// A closure that is called at most once, unless it is cancelled before.
package final class ScheduledWork: Sendable {
    private let body: Mutex<(@Sendable () -> Void)?>

    /// Pending work.
    package init(_ body: @escaping @Sendable () -> Void) {
        self.body = Mutex(body)
    }

    /// Calls the closure, the first time.
    package func perform() { body.take()?() }

    /// Releases the closure without calling it.
    package func cancel() { _ = body.take() }
}

/// A completion that is called with the first result only.
package final class Reply<Value: Sendable>: Sendable {
    /// Receives the result.
    package typealias Answer = @Sendable (Result<Value, LarderError>) -> Void

    private let completion: Mutex<Answer?>

    /// A completion that has not been called.
    package init(_ completion: @escaping Answer) {
        self.completion = Mutex(completion)
    }

    /// Calls the completion; later results are dropped.
    package func send(_ result: Result<Value, LarderError>) { completion.take()?(result) }
}

extension Mutex where Value: ~Copyable {
    /// Takes the value out, so that its call happens outside of the lock.
    fileprivate borrowing func take<Wrapped>() -> Wrapped? where Value == Wrapped? {
        withLock { value in
            defer { value = nil }
            return value
        }
    }
}
