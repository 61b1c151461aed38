import LarderCore

/// An asynchronous sequence of a listener's events.
///
/// Each iteration has its own listener, from its start until the loop exits or its task is
/// cancelled, which ends the sequence without an error. No change is skipped: snapshots of documents
/// and queries wait for the loop, and when 32 of them wait, later ones are joined with the last, which
/// then contains the changes of all; events of the Realtime Database are buffered without limit. For
/// lists of writes and network states, only the newest element is buffered. Elements are delivered on
/// the task's executor, not on the callback queue.
///
/// An error of the listener is thrown and ends the sequence.
public struct SnapshotSequence<Element: Sendable>: AsyncSequence, Sendable {
    package typealias Stream = AsyncThrowingStream<Element, any Error>
    /// Receives an element, or the error that ends the sequence.
    package typealias Delivery = @Sendable (Result<Element, any Error>) -> Void
    /// Ends a listener.
    package typealias Removal = @Sendable () -> Void

    /// A listener whose elements are fetched.
    package struct Source: Sendable {
        /// The next element, or the error that ends the sequence; nil for none yet.
        let next: @Sendable () -> Result<Element, any Error>?
        let remove: Removal

        package init(
            next: @escaping @Sendable () -> Result<Element, any Error>?,
            remove: @escaping Removal
        ) {
            (self.next, self.remove) = (next, remove)
        }
    }

    private let makeIterator: @Sendable () -> Iterator

    /// A sequence of what a listener delivers.
    ///
    /// - Parameter listen: adds a listener and returns the closure that removes it.
    package init(
        _ bufferingPolicy: Stream.Continuation.BufferingPolicy = .unbounded,
        listen: @escaping @Sendable (@escaping Delivery) -> Removal
    ) {
        makeIterator = {
            let (stream, continuation) = Stream.makeStream(bufferingPolicy: bufferingPolicy)
            let remove = listen { result in
                switch result {
                case .success(let element): continuation.yield(element)
                case .failure(let error): continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in remove() }
            return Iterator(base: .delivered(stream.makeAsyncIterator()))
        }
    }

    /// A sequence of elements that are fetched.
    ///
    /// - Parameter listen: adds a listener, which calls its closure when there is a next element.
    package init(fetching listen: @escaping @Sendable (@escaping @Sendable () -> Void) -> Source) {
        makeIterator = {
            let (signals, continuation) = AsyncStream<Void>.makeStream(
                bufferingPolicy: .bufferingNewest(1))
            let source = listen { continuation.yield() }
            continuation.onTermination = { _ in source.remove() }
            return Iterator(base: .fetched(signals.makeAsyncIterator(), source))
        }
    }

    /// Adds a listener and returns an iterator over its events.
    public func makeAsyncIterator() -> Iterator { makeIterator() }

    /// An iterator over a listener's events.
    public struct Iterator: AsyncIteratorProtocol {
        enum Base {
            case delivered(Stream.Iterator)
            case fetched(AsyncStream<Void>.Iterator, Source)
            case ended
        }

        var base: Base

        /// The next element; nil if the task was cancelled.
        public mutating func next() async throws -> Element? {
            try await next(isolation: #isolation)
        }

        /// The next element; nil if the task was cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> Element? {
            switch base {
            case .ended: return nil
            case .delivered(var stream):
                defer { base = .delivered(stream) }
                return try await stream.next(isolation: actor)
            case .fetched(var signals, let source):
                defer { if case .fetched = base { base = .fetched(signals, source) } }
                while true {
                    if !Task.isCancelled, let result = source.next() {
                        if case .failure = result { base = .ended }
                        return try result.get()
                    }
                    guard await signals.next(isolation: actor) != nil else { return nil }
                }
            }
        }
    }
}
