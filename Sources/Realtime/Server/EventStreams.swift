import DequeModule
import LarderCore
import LarderHTTP
import Metrics
import Synchronization

/// The outputs of an event stream on their way to its client.
///
/// What waits is shared by all streams that wait for it, and charged once; a stream is charged for its
/// place. A client that takes less than it is sent is disconnected once more than a limit waits.
final class StreamOutputs: Sendable {
    private struct State {
        var waiting: Deque<RESTService.Output> = []
        var waitingBytes = 0
        var hasBegun = false
        var isEnded = false
        var reader: LoopContinuation<RESTService.Output?>?
    }

    /// The memory of a place in the line.
    private static let placeBytes = 64

    private let maxBytes: Int
    private let memory: MemoryAccount?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - maxBytes: what may wait before one more message is added.
    ///   - memory: the account of the request; nil to charge nothing.
    init(maxBytes: Int, memory: MemoryAccount?) {
        self.maxBytes = maxBytes
        self.memory = memory
    }

    /// Adds an output of the service.
    func add(_ output: RESTService.Output) {
        let (reader, isAdded) = state.withLock { state in
            guard !state.isEnded else {
                return (Optional<LoopContinuation<RESTService.Output?>>.none, false)
            }
            if case .streamBegan = output { state.hasBegun = true }
            if let reader = state.reader.take() { return (reader, false) }
            guard state.waitingBytes <= maxBytes else {
                state.isEnded = true
                return (nil, false)
            }
            state.waiting.append(output)
            state.waitingBytes += output.byteCount
            return (nil, true)
        }
        if isAdded { charge(output.byteCount, count: 1) }
        reader?.resume(returning: output)
    }

    /// Charges places, and notes what is kept in them; negative numbers release them.
    private func charge(_ bytes: Int, count: Int) {
        memory?.change(by: count * Self.placeBytes)
        memory?.changeKept(by: bytes)
    }

    /// Adds a message that keeps the stream alive, unless something else is on its way.
    func keepAlive() {
        let reader = state.withLock { state in
            state.hasBegun && !state.isEnded ? state.reader.take() : nil
        }
        reader?.resume(returning: .streamData(EventStream.keepAlive))
    }

    /// The next output; nil at the end.
    private func next() async -> RESTService.Output? {
        await withTaskCancellationHandler {
            await withLoopContinuation { continuation in
                let (output, isReady) = state.withLock {
                    state -> (RESTService.Output?, Bool) in
                    if let output = state.waiting.popFirst() {
                        state.waitingBytes -= output.byteCount
                        return (output, true)
                    }
                    guard !state.isEnded else { return (nil, true) }
                    state.reader = continuation
                    return (nil, false)
                }
                guard isReady else { return }
                if let output { charge(-output.byteCount, count: -1) }
                continuation.resume(returning: output)
            }
        } onCancel: {
            close()
        }
    }

    /// Ends the stream; what waits is discarded.
    func close() {
        let (reader, waiting, bytes) = state.withLock { state in
            defer { (state.waiting, state.waitingBytes, state.isEnded) = ([], 0, true) }
            return (state.reader.take(), state.waiting, state.waitingBytes)
        }
        charge(-bytes, count: -waiting.count)
        reader?.resume(returning: nil)
    }

    /// Writes the outputs until the stream ends or its client leaves.
    ///
    /// - Parameter began: called with the response, or its head.
    func write(to reply: any HTTPReply, _ began: (RESTResponse) -> Void) async {
        var hasBegun = false
        do throws(LarderError) {
            while let output = await next() {
                switch output {
                case .response(let response):
                    began(response)
                    reply.begin(
                        HTTPResponseHead(response), bodyBytes: response.body.count)
                    return reply.end(response.body)
                case .streamBegan(let head):
                    hasBegun = true
                    began(head)
                    reply.begin(HTTPResponseHead(head), bodyBytes: nil)
                case .streamData(let bytes): try await reply.write(bytes)
                case .streamEnded: return reply.end([])
                }
            }
        } catch {
            // The client has left.
            return
        }
        if hasBegun {
            reply.end([])
        } else {
            await reply.send(.failure(503, "the server is stopping"))
        }
    }
}

extension RESTService.Output {
    fileprivate var byteCount: Int {
        if case .streamData(let bytes) = self { bytes.count } else { 0 }
    }
}

/// The open event streams of a server, which are kept alive.
final class EventStreams: Sendable {
    private struct State {
        var streams: [UInt64: StreamOutputs] = [:]
        var lastID: UInt64 = 0
        /// Runs while there are streams.
        var keepingAlive: Task<Void, Never>?
        var isClosed = false
    }

    private let interval: Duration
    private let gauge = Gauge(label: "larder_realtime_streams")
    private let state = Mutex(State())

    init(keepAliveInterval interval: Duration) {
        self.interval = interval
    }

    /// Adds a stream; ends it if the server is stopping.
    ///
    /// - Returns: its ID.
    func add(_ stream: StreamOutputs) -> UInt64 {
        let (id, count, isClosed) = state.withLock { state in
            state.lastID += 1
            state.streams[state.lastID] = stream
            if state.keepingAlive == nil, !state.isClosed { state.keepingAlive = keepAlive() }
            return (state.lastID, state.streams.count, state.isClosed)
        }
        gauge.record(count)
        if isClosed { stream.close() }
        return id
    }

    func remove(_ id: UInt64) {
        let (count, task) = state.withLock { state in
            state.streams[id] = nil
            return (
                state.streams.count, state.streams.isEmpty ? state.keepingAlive.take() : nil
            )
        }
        task?.cancel()
        gauge.record(count)
    }

    private func keepAlive() -> Task<Void, Never> {
        Task { [weak self, interval] in
            while (try? await Task.sleep(for: interval)) != nil, let self {
                for stream in state.withLock({ $0.streams.values }) { stream.keepAlive() }
            }
        }
    }

    /// Ends all streams, including later ones.
    func close() {
        let streams = state.withLock { state in
            state.isClosed = true
            return Array(state.streams.values)
        }
        for stream in streams { stream.close() }
    }
}
