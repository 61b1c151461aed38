import LarderCore

/// An asynchronous sequence of a listener's events.
///
/// Each iteration has its own listener, from its start until the loop exits or its task is
/// cancelled, which ends the sequence without an error. Snapshots are buffered without limit and
/// never skipped, since each contains the changes since the previous one. For lists of writes and
/// network states, only the newest element is buffered. Elements are delivered on the task's
/// executor, not on the callback queue.
///
/// An error of the listener is thrown and ends the sequence.
public struct SnapshotSequence<Element: Sendable>: AsyncSequence, Sendable {
    package typealias Stream = AsyncThrowingStream<Element, any Error>
    /// Receives an element, or the error that ends the sequence.
    package typealias Delivery = @Sendable (Result<Element, any Error>) -> Void
    /// Ends a listener.
    package typealias Removal = @Sendable () -> Void

    private let bufferingPolicy: Stream.Continuation.BufferingPolicy
    private let listen: @Sendable (@escaping Delivery) -> Removal

    /// A sequence of what a listener delivers.
    ///
    /// - Parameter listen: adds a listener and returns the closure that removes it.
    package init(
        _ bufferingPolicy: Stream.Continuation.BufferingPolicy = .unbounded,
        listen: @escaping @Sendable (@escaping Delivery) -> Removal
    ) {
        self.bufferingPolicy = bufferingPolicy
        self.listen = listen
    }

    /// Adds a listener and returns an iterator over its events.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = Stream.makeStream(bufferingPolicy: bufferingPolicy)
        let remove = listen { result in
            switch result {
            case .success(let element): continuation.yield(element)
            case .failure(let error): continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in remove() }
        return Iterator(base: stream.makeAsyncIterator())
    }

    /// An iterator over a listener's events.
    public struct Iterator: AsyncIteratorProtocol {
        var base: Stream.Iterator

        /// The next element; nil if the task was cancelled.
        public mutating func next() async throws -> Element? {
            try await base.next()
        }

        /// The next element; nil if the task was cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> Element? {
            try await base.next(isolation: actor)
        }
    }
}
