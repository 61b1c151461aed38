import GRPCCore
import LarderCore
import LarderHTTP
import LarderModel
import LarderWire
import Metrics
import NIOCore
import SwiftProtobuf
import Synchronization

/// Connects a client's stream to the backend; confined to the connection's event loop.
protocol StreamHandler: SendableMetatype {
    associatedtype Message: SwiftProtobuf.Message
    associatedtype Request: Sendable
    associatedtype Event: Sendable

    static var method: MethodDescriptor { get }

    /// The database name of the first request.
    static func database(of message: Message) -> String

    /// Decodes a request, on any thread.
    ///
    /// - Parameter size: the size of the encoded request.
    static func decode(_ message: Message, size: Int, isFirst: Bool, _ coder: MessageCoder)
        throws(LarderError) -> Request

    /// Opens the backend's stream.
    ///
    /// - Parameters:
    ///   - memory: the account of the call.
    ///   - tell: called with events, on any thread.
    init(
        _ database: DatabaseContext, _ limits: ServerConfiguration.Limits, _ memory: MemoryAccount,
        _ tell: @escaping @Sendable (Event) -> Void)

    /// The number of requests whose response is outstanding.
    var unansweredCount: Int { get }

    /// Whether the next request must wait for a response.
    var isFull: Bool { get }

    mutating func send(_ request: Request) throws(LarderError)

    mutating func answer(to event: Event) throws -> StreamResponse

    /// Called when the client has received the responses to some events.
    mutating func noteTaken(_ count: Int)

    func close()
}

/// The responses to an event.
enum StreamResponse {
    case nothing
    case responses([[UInt8]])
    /// The end of the stream, by an error or with success.
    case end(LarderError?)
}

extension StreamMethod {
    init<Stream: StreamHandler>(_: Stream.Type, _ service: FirestoreService) {
        self.init(descriptor: Stream.method) { StreamCall<Stream>(service, $0, $1, $2) }
    }
}

/// A client's stream.
///
/// Each request is decoded in a task; the next one waits for it. Events of the backend are sent
/// from the event loop, unless the client is far behind.
private final class StreamCall<Stream: StreamHandler>: OpenStream {
    private let service: FirestoreService
    private let call: Call
    private let context: CallContext
    private let monitored: MonitoredCall
    private let events: LoopEvents<Stream.Event>
    /// The database of the first request.
    private var database: DatabaseContext?
    private var stream: Stream?
    /// Whether a request is being decoded, and the task if decoding is suspended.
    private var isReading = false
    private var reader: Task<Void, Never>?
    /// Whether the client is far behind.
    private var isBehind = false
    /// The end of the stream after outstanding responses.
    private var ending: Result<Void, any Error>?
    private var isCounted = false
    private var isOver = false

    init(
        _ service: FirestoreService, _ call: Call, _ headers: RequestHeaders, _ context: CallContext
    ) {
        self.service = service
        self.call = call
        self.context = context
        monitored = service.monitor.begin(
            Stream.method, headers.metadata, peer: call.origin.connection.address)
        events = LoopEvents(call.loop)
        do throws(LarderError) {
            try service.streams.add()
            isCounted = true
            let bound = NIOLoopBound(self, eventLoop: call.loop)
            events.listen { bound.value.answer() }
        } catch {
            end(.failure(error))
        }
    }

    // MARK: Requests

    var isBusy: Bool { isReading || ending != nil || stream?.isFull == true }

    func take(_ request: [UInt8]) {
        isReading = true
        let bound = NIOLoopBound(self, eventLoop: call.loop)
        let task = context.serve(call.origin) { [service, database, monitored, loop = call.loop] in
            let result: Result<(DatabaseContext, Stream.Request), any Error>
            do {
                result = .success(
                    try await monitored.run { try await Self.read(request, database, service) })
            } catch {
                result = .failure(error)
            }
            loop.executeOrRun { bound.value.send(result) }
        }
        if isReading { reader = task }
    }

    private static func read(
        _ request: [UInt8], _ known: DatabaseContext?, _ service: FirestoreService
    ) async throws -> (DatabaseContext, Stream.Request) {
        try await RequestMessage<Stream.Message>(request).read { message in
            let database =
                if let known {
                    known
                } else {
                    try await service.database(Stream.database(of: message))
                }
            return (
                database,
                try Stream.decode(
                    message, size: request.count, isFirst: known == nil, database.coder())
            )
        }
    }

    private func send(_ result: Result<(DatabaseContext, Stream.Request), any Error>) {
        (isReading, reader) = (false, nil)
        guard !isOver else { return }
        do {
            let (database, request) = try result.get()
            if stream == nil {
                stream = Stream(database, service.limits, call.memory) { [events] in events.add($0)
                }
                self.database = database
            }
            try stream?.send(request)
        } catch {
            return finish(.failure(error))
        }
        if !isBusy { call.read() }
    }

    func finish() {
        finish(.success(()))
    }

    /// Ends after outstanding responses.
    private func finish(_ ending: Result<Void, any Error>) {
        self.ending = ending
        answer()
    }

    // MARK: Responses

    /// Sends responses to events, unless the client is far behind.
    private func answer() {
        guard !isBehind, !isOver else { return }
        let wasBusy = isBusy
        let (responses, count, end) = responses(to: events.take())
        isBehind = call.write(responses)
        if let end { return self.end(end) }
        if let ending, stream.map({ $0.unansweredCount == 0 }) ?? true { return self.end(ending) }
        if isBehind {
            call.wait { [self] in
                isBehind = false
                stream?.noteTaken(count)
                answer()
            }
        } else {
            stream?.noteTaken(count)
        }
        if wasBusy, !isBusy { call.read() }
    }

    /// The responses to events, the number of these events, and the end of the stream.
    private func responses(
        to events: [Stream.Event]
    ) -> ([[UInt8]], count: Int, end: Result<Void, any Error>?) {
        var responses: [[UInt8]] = []
        var count = 0
        for event in events {
            do {
                switch try stream?.answer(to: event) {
                case .nothing, nil: continue
                case .responses(let more):
                    responses += more
                    count += 1
                case .end(let error):
                    return (responses, count, error.map { .failure($0) } ?? .success(()))
                }
            } catch {
                return (responses, count, .failure(error))
            }
        }
        return (responses, count, nil)
    }

    // MARK: The end

    private func end(_ ending: Result<Void, any Error>) {
        isOver = true
        switch ending {
        case .success:
            monitored.succeeded()
            call.end()
        case .failure(let error): call.refuse(monitored.failed(error))
        }
    }

    func close() {
        if !isOver { _ = monitored.failed(RPCError.clientHasLeft) }
        isOver = true
        events.close()
        reader?.cancel()
        stream?.close()
        (reader, stream, database) = (nil, nil, nil)
        if isCounted { service.streams.remove() }
    }
}

/// The number of open streams, up to a limit.
final class StreamCount: Sendable {
    private let count = Atomic<Int>(0)
    private let limit: Int
    private let gauge = Gauge(label: "larder_server_streams")

    init(limit: Int) {
        self.limit = limit
    }

    var value: Int { count.load(ordering: .relaxed) }

    /// Adds a stream; ``remove()`` must follow at its end.
    ///
    /// - Throws: `resourceExhausted`, without adding it, at the limit.
    func add() throws(LarderError) {
        let number = count.wrappingAdd(1, ordering: .relaxed).newValue
        guard number <= limit else {
            count.subtract(1, ordering: .relaxed)
            throw LarderError(
                .resourceExhausted, "the limit of \(limit) open streams is reached")
        }
        gauge.record(number)
    }

    func remove() {
        gauge.record(count.wrappingSubtract(1, ordering: .relaxed).newValue)
    }
}
