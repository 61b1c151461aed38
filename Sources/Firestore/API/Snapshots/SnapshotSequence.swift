import LarderModel

/// What a listener hears, as an asynchronous sequence.
///
/// Each iteration has a listener of its own, from its first step until the loop is left or its
/// task is cancelled, which ends the sequence without an error. Snapshots wait in their order,
/// however many, until the loop takes them: none is left out, since each tells its differences from
/// the one before. Of lists of writes and of network states only the newest waits. Elements come on
/// the task's executor, not on the callback queue.
///
/// An error of the listener is thrown, and ends the sequence.
public struct SnapshotSequence<Element: Sendable>: AsyncSequence, Sendable {
    typealias Stream = AsyncThrowingStream<Element, any Error>

    private let bufferingPolicy: Stream.Continuation.BufferingPolicy
    private let listen: @Sendable (@escaping Completion<Element>) -> any ListenerRegistration

    init(
        _ bufferingPolicy: Stream.Continuation.BufferingPolicy = .unbounded,
        _ listen: @escaping @Sendable (@escaping Completion<Element>) -> any ListenerRegistration
    ) {
        self.bufferingPolicy = bufferingPolicy
        self.listen = listen
    }

    /// Adds a listener, and gives what it hears.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = Stream.makeStream(bufferingPolicy: bufferingPolicy)
        let registration = listen { result in
            switch result {
            case .success(let element): continuation.yield(element)
            case .failure(let error): continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in registration.remove() }
        return Iterator(base: stream.makeAsyncIterator())
    }

    /// One loop over what a listener hears.
    public struct Iterator: AsyncIteratorProtocol {
        var base: Stream.Iterator

        /// The next value; nil when the task was cancelled.
        public mutating func next() async throws -> Element? {
            try await base.next()
        }

        /// The next value; nil when the task was cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> Element? {
            try await base.next(isolation: actor)
        }
    }
}
