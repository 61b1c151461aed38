public import Dispatch
public import Foundation
public import LarderCore
public import Synchronization

/// Passes elements from a blocking producer to an asynchronous consumer, such as the client of a
/// query.
///
/// The producer may be ahead by a number of bytes. Beyond that its thread waits, but only for a
/// limited time: an open read transaction keeps the store from reusing space, so that a client
/// which stops reading loses its response instead of harming others.
@usableFromInline
package final class BackpressuredQueue<Element: Sendable>: Sendable {
    @usableFromInline
    struct State {
        @usableFromInline var elements: [Element] = []
        @usableFromInline var bytes = 0
        @usableFromInline var end: Result<Void, LarderError>?
        @usableFromInline var isCancelled = false
        @usableFromInline var consumer: LoopContinuation<Void>?

        @usableFromInline init() {}
    }

    @usableFromInline let state = Mutex(State())
    /// The producer waits here.
    @usableFromInline let room = DispatchSemaphore(value: 0)
    @usableFromInline let maxBytes: Int
    @usableFromInline let timeout: DispatchTimeInterval

    /// An empty queue.
    ///
    /// - Parameters:
    ///   - maxBytes: how far the producer may be ahead.
    ///   - timeout: how long the producer waits for a consumer that takes nothing.
    package init(maxBytes: Int, timeout: Duration) {
        self.maxBytes = maxBytes
        self.timeout = timeout.dispatchInterval
    }

    // MARK: Producer

    /// Appends an element; blocks while the consumer is too far behind.
    ///
    /// - Throws: `cancelled` if the consumer is gone, `deadlineExceeded` if it takes nothing.
    @inlinable
    package func append(_ element: Element, bytes: Int) throws(LarderError) {
        while true {
            let (isFull, consumer) = try state.withLock { state throws(LarderError) in
                if state.isCancelled { throw .clientHasLeft }
                let hasRoom = state.elements.isEmpty || state.bytes + bytes <= maxBytes
                guard hasRoom else { return (true, LoopContinuation<Void>?.none) }
                state.elements.append(element)
                state.bytes += bytes
                defer { state.consumer = nil }
                return (false, state.consumer)
            }
            consumer?.resume()
            guard isFull else { return }
            guard room.wait(timeout: .now() + timeout) == .success else {
                throw stalled
            }
        }
    }

    @usableFromInline
    var stalled: LarderError {
        LarderError(
            .deadlineExceeded, "the client does not read the response",
            domain: LarderError.sharedDomain)
    }

    /// Whether the consumer is gone.
    @inlinable
    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Ends the queue after the elements in it.
    @inlinable
    package func finish(_ end: Result<Void, LarderError>) {
        let consumer = state.withLock { state in
            if state.end == nil { state.end = end }
            defer { state.consumer = nil }
            return state.consumer
        }
        consumer?.resume()
    }

    // MARK: Consumer

    /// Takes all elements in the queue, waiting for the first; nil at the end.
    ///
    /// - Throws: the error that the producer finished with, after all elements.
    @inlinable
    package func take() async throws(LarderError) -> [Element]? {
        while true {
            let taken = try state.withLock { state throws(LarderError) -> [Element]? in
                if state.elements.isEmpty {
                    try state.end?.get()
                    return state.end == nil ? [] : nil
                }
                defer { (state.elements, state.bytes) = ([], 0) }
                return state.elements
            }
            guard let taken, taken.isEmpty else {
                if taken != nil { room.signal() }
                return taken
            }
            await withLoopContinuation { continuation in
                let isReady = state.withLock { state in
                    guard state.elements.isEmpty, state.end == nil else { return true }
                    state.consumer = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        }
    }

    /// Ends the queue from the consumer's side; the producer's next append fails.
    @inlinable
    package func cancel() {
        state.withLock { $0.isCancelled = true }
        finish(.failure(.clientHasLeft))
        room.signal()
    }
}
