import GRPCCore
import Synchronization

/// A transport that closes a stream only when no write to it is in progress.
///
/// The library closes a stream as soon as its responses are handled, although the task that writes
/// its requests may be between reserving the writer and handing its request to the event loop. The
/// request then follows the close into the channel, where the library's debug builds end the
/// process: "Client is closed, cannot send a message." Here the close waits for that write, which
/// the call has cancelled by then, and later writes do not reach the channel.
struct SettledTransport<Base: ClientTransport>: ClientTransport {
    typealias Bytes = Base.Bytes

    private let base: Base

    init(_ base: Base) {
        self.base = base
    }

    var retryThrottle: RetryThrottle? { base.retryThrottle }

    func connect() async throws {
        try await base.connect()
    }

    func beginGracefulShutdown() {
        base.beginGracefulShutdown()
    }

    func config(forMethod descriptor: MethodDescriptor) -> MethodConfig? {
        base.config(forMethod: descriptor)
    }

    func withStream<Value: Sendable>(
        descriptor: MethodDescriptor, options: CallOptions,
        _ closure: (_ stream: RPCStream<Inbound, Outbound>, _ context: ClientContext) async throws
            -> Value
    ) async throws -> Value {
        try await base.withStream(descriptor: descriptor, options: options) { stream, context in
            let writes = StreamWrites()
            let settled = RPCStream(
                descriptor: stream.descriptor, inbound: stream.inbound,
                outbound: RPCWriter.Closable(
                    wrapping: SettledWriter(base: stream.outbound, writes: writes)))
            do {
                let result = try await closure(settled, context)
                await writes.settle()
                return result
            } catch {
                await writes.settle()
                throw error
            }
        }
    }
}

/// A writer that counts its writes and refuses them once the stream is about to close.
private struct SettledWriter<Base: ClosableRPCWriterProtocol>: ClosableRPCWriterProtocol {
    let base: Base
    let writes: StreamWrites

    func write(_ element: Base.Element) async throws {
        try writes.begin()
        defer { writes.end() }
        try await base.write(element)
    }

    func write(contentsOf elements: some Sequence<Base.Element>) async throws {
        try writes.begin()
        defer { writes.end() }
        try await base.write(contentsOf: elements)
    }

    func finish() async {
        await base.finish()
    }

    func finish(throwing error: any Error) async {
        await base.finish(throwing: error)
    }
}

/// The writes to a stream that are in progress; thread-safe.
private final class StreamWrites: Sendable {
    private struct State {
        var count = 0
        var isClosing = false
        /// Resumed when the last write ends.
        var closer: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// - Throws: `CancellationError` once the stream is about to close.
    func begin() throws(CancellationError) {
        let isOpen = state.withLock { state in
            if state.isClosing { return false }
            state.count += 1
            return true
        }
        if !isOpen { throw CancellationError() }
    }

    func end() {
        let closer = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.count -= 1
            guard state.count == 0 else { return nil }
            defer { state.closer = nil }
            return state.closer
        }
        closer?.resume()
    }

    /// Refuses further writes, and waits for those in progress; called once.
    func settle() async {
        await withCheckedContinuation { continuation in
            let isSettled = state.withLock { state in
                state.isClosing = true
                if state.count > 0 { state.closer = continuation }
                return state.count == 0
            }
            if isSettled { continuation.resume() }
        }
    }
}
