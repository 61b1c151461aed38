import Dispatch
import LarderModel
import LarderRemote
import Synchronization

/// Carries what a blocking reader finds to a client that takes it at its own pace.
///
/// The reader runs ahead by a number of bytes. After that its thread waits for the client, but
/// not for long: an open read of a store keeps the store from using space again, so that a client
/// that stands still loses its answer, and nobody else loses anything.
final class Pump<Element: Sendable>: Sendable {
    /// What the reader is told to do with what it has.
    private struct State {
        var elements: [Element] = []
        var bytes = 0
        var end: Result<Void, LarderError>?
        var isCancelled = false
        var taker: LoopContinuation<Void>?
    }

    private let state = Mutex(State())
    /// Where the reader waits.
    private let room = DispatchSemaphore(value: 0)
    private let maxBytes: Int
    private let patience: Duration

    /// A pump without anything in it.
    ///
    /// - Parameters:
    ///   - maxBytes: how far the reader may be ahead.
    ///   - patience: how long the reader waits for a client that takes nothing.
    init(maxBytes: Int, patience: Duration) {
        self.maxBytes = maxBytes
        self.patience = patience
    }

    // MARK: The reader's side

    /// Gives something to the client; waits while it is too far behind.
    ///
    /// - Throws: `cancelled` where the client has gone, `deadlineExceeded` where it stands still.
    func give(_ element: Element, bytes: Int) throws(LarderError) {
        while true {
            let (isFull, taker) = try state.withLock { state throws(LarderError) in
                if state.isCancelled { throw .clientHasLeft }
                let hasRoom = state.elements.isEmpty || state.bytes + bytes <= maxBytes
                guard hasRoom else { return (true, LoopContinuation<Void>?.none) }
                state.elements.append(element)
                state.bytes += bytes
                defer { state.taker = nil }
                return (false, state.taker)
            }
            taker?.resume()
            guard isFull else { return }
            guard room.wait(timeout: .now() + patience.dispatchInterval) == .success else {
                throw LarderError(
                    .deadlineExceeded, "the client took nothing of the answer for \(patience)")
            }
        }
    }

    /// Whether nobody takes anything any longer.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Ends what there is to take.
    func finish(_ end: Result<Void, LarderError>) {
        let taker = state.withLock { state in
            if state.end == nil { state.end = end }
            defer { state.taker = nil }
            return state.taker
        }
        taker?.resume()
    }

    // MARK: The client's side

    /// What has been given and not taken; nil at the end.
    ///
    /// - Throws: what the reader ended with, once all is taken.
    func take() async throws(LarderError) -> [Element]? {
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
                    state.taker = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        }
    }

    /// Tells the reader that nobody takes anything any longer, and ends what there is to take.
    func cancel() {
        state.withLock { $0.isCancelled = true }
        finish(.failure(.clientHasLeft))
        room.signal()
    }
}
