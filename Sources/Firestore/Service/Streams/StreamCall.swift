import GRPCCore
import LarderHTTP
import LarderModel
import LarderWire
import Metrics
import NIOCore
import SwiftProtobuf
import Synchronization

/// What is behind a client's stream: how its requests reach the backend, and what it is answered.
///
/// Used on the event loop of the stream's connection.
protocol StreamHandler: SendableMetatype {
    /// A request as it travels.
    associatedtype Message: SwiftProtobuf.Message
    /// A request as the backend takes it.
    associatedtype Request: Sendable
    /// What the backend tells.
    associatedtype Event: Sendable

    /// What is called.
    static var method: MethodDescriptor { get }

    /// The name of the database that a first request is about.
    static func database(of message: Message) -> String

    /// Reads a request, on any thread.
    static func decode(_ message: Message, isFirst: Bool, _ coder: MessageCoder)
        throws(LarderError) -> Request

    /// Opens the backend's side.
    ///
    /// - Parameter tell: is told of events, on any thread.
    init(
        _ database: DatabaseContext, _ limits: ServerConfiguration.Limits,
        _ tell: @escaping @Sendable (Event) -> Void)

    /// How many requests have no answer that must have one.
    var unansweredCount: Int { get }

    /// Whether no request may be sent before one of these is answered.
    var isFull: Bool { get }

    /// Sends a request to the backend.
    mutating func send(_ request: Request) throws(LarderError)

    /// What an event means to the client.
    mutating func answer(to event: Event) throws -> StreamResponse

    /// Hears to how many events the client has taken the responses.
    mutating func noteTaken(_ count: Int)

    /// Ends the backend's side.
    func close()
}

/// What is said of an event of a stream.
enum StreamResponse {
    /// Nothing.
    case nothing
    /// Responses, in bytes.
    case responses([[UInt8]])
    /// The stream has ended, with an error or in good order.
    case end(LarderError?)
}

extension LiveMethod {
    /// A method whose calls are streams of a kind.
    init<Stream: StreamHandler>(_: Stream.Type, _ service: FirestoreService) {
        self.init(method: Stream.method) { StreamCall<Stream>(service, $0, $1, $2) }
    }
}

/// A client's stream, until the client or the server ends it.
///
/// A request is read in a task, which lasts no longer; the next one waits for it. What the backend
/// tells is answered from the event loop, unless the client is far behind.
private final class StreamCall<Stream: StreamHandler>: LiveCall {
    private let service: FirestoreService
    private let call: Call
    private let context: CallContext
    private let monitored: MonitoredCall
    private let events: LoopEvents<Stream.Event>
    /// The database, from the first request on.
    private var database: DatabaseContext?
    private var stream: Stream?
    /// Whether a request is being read, and the task that does it where it takes its time.
    private var isReading = false
    private var reader: Task<Void, Never>?
    /// Whether the client is far behind.
    private var isBehind = false
    /// How the stream ends once what was asked is answered.
    private var ending: Result<Void, any Error>?
    /// Whether it is counted among those that are open.
    private var isCounted = false
    private var isOver = false

    init(
        _ service: FirestoreService, _ call: Call, _ headers: RequestHeaders, _ context: CallContext
    ) {
        self.service = service
        self.call = call
        self.context = context
        monitored = service.monitor.begin(Stream.method, headers.metadata)
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
        let task = context.serve { [service, database, monitored, loop = call.loop] in
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
                database, try Stream.decode(message, isFirst: known == nil, database.coder())
            )
        }
    }

    private func send(_ result: Result<(DatabaseContext, Stream.Request), any Error>) {
        (isReading, reader) = (false, nil)
        guard !isOver else { return }
        do {
            let (database, request) = try result.get()
            if stream == nil {
                stream = Stream(database, service.limits) { [events] in events.add($0) }
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

    /// Ends once what was asked before is answered.
    private func finish(_ ending: Result<Void, any Error>) {
        self.ending = ending
        answer()
    }

    // MARK: Answers

    /// Answers what has been told, unless the client is far behind.
    private func answer() {
        guard !isBehind, !isOver else { return }
        let wasBusy = isBusy
        let (responses, count, end) = responses(to: events.take())
        isBehind = call.write(responses)
        if let end { return self.end(end) }
        if let ending, stream.map({ $0.unansweredCount == 0 }) ?? true { return self.end(ending) }
        if isBehind {
            call.wait { [self] room in
                guard case .success = room else { return }
                isBehind = false
                stream?.noteTaken(count)
                answer()
            }
        } else {
            stream?.noteTaken(count)
        }
        if wasBusy, !isBusy { call.read() }
    }

    /// The responses to events, to how many of them, and how the stream ends behind these, where
    /// it does.
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

/// How many streams are open, at most as many as a limit says.
final class StreamCount: Sendable {
    private let count = Atomic<Int>(0)
    private let limit: Int
    private let gauge = Gauge(label: "larder_server_streams")

    init(limit: Int) {
        self.limit = limit
    }

    /// How many are open.
    var value: Int { count.load(ordering: .relaxed) }

    /// Counts a stream; call ``remove()`` at its end.
    ///
    /// - Throws: `resourceExhausted`, and it is not counted, where there are too many.
    func add() throws(LarderError) {
        let number = count.wrappingAdd(1, ordering: .relaxed).newValue
        guard number <= limit else {
            count.subtract(1, ordering: .relaxed)
            throw LarderError(
                .resourceExhausted, "\(limit) streams are open, which is the limit")
        }
        gauge.record(number)
    }

    /// Counts a stream no longer.
    func remove() {
        gauge.record(count.wrappingSubtract(1, ordering: .relaxed).newValue)
    }
}
