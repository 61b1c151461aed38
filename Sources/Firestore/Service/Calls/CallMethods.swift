import GRPCCore
import LarderBackend
import LarderHTTP
import LarderModel
import LarderWire
import SwiftProtobuf

/// The handler of a method: of one request with any number of responses, or of a stream.
enum CallMethod: Sendable {
    case request(RequestMethod)
    case stream(StreamMethod)

    var descriptor: MethodDescriptor {
        switch self {
        case .request(let method): method.descriptor
        case .stream(let method): method.descriptor
        }
    }
}

// MARK: - One request

/// A method with one request.
struct RequestMethod: Sendable {
    /// Called exactly once, on any thread, with a closure that builds the response on the event
    /// loop.
    typealias Reply = @Sendable (_ answer: @escaping @Sendable () throws -> [[UInt8]]) -> Void

    /// A response to a request.
    enum Answer: Sendable {
        /// All messages.
        case messages([[UInt8]])
        /// Messages at the pace of the client.
        case pages(PagedResponse)
    }

    /// The work of a request.
    struct Work: Sendable {
        /// Performs or begins the work on the connection's event loop.
        ///
        /// - Returns: false, without effect, if that would block.
        var inline: @Sendable (_ reply: @escaping Reply) throws -> Bool = { _ in false }
        /// Performs the work in a task, which is cancelled if the call ends early.
        let async: @Sendable () async throws -> Answer
    }

    let descriptor: MethodDescriptor
    let monitor: CallMonitor
    /// The work of an encoded request.
    let work: @Sendable ([UInt8]) throws -> Work
}

extension RequestMethod {
    /// A method that a closure serves with one response.
    ///
    /// - Parameter begin: begins to serve an encoded request on the connection's event loop;
    ///   returns false, without effect, if that would block or the request is malformed.
    init<Request: Message, Output: Message>(
        _ descriptor: MethodDescriptor, _ monitor: CallMonitor,
        begin: @escaping @Sendable ([UInt8], @escaping Reply) throws -> Bool = { _, _ in false },
        _ body: @escaping @Sendable (Request) async throws -> Output
    ) {
        self.init(descriptor: descriptor, monitor: monitor) { bytes in
            Work { reply in
                try begin(bytes, reply)
            } async: {
                let response = try await RequestMessage<Request>(bytes).read(body)
                return .messages([try response.serializedBytes()])
            }
        }
    }

    /// A method whose response is produced page by page.
    init<Request: Message>(
        _ descriptor: MethodDescriptor, _ monitor: CallMonitor,
        pages: @escaping @Sendable (Request) async throws -> PagedResponse
    ) {
        self.init(descriptor: descriptor, monitor: monitor) { bytes in
            Work(async: { .pages(try await RequestMessage<Request>(bytes).read(pages)) })
        }
    }

    /// A method that reads few documents, inline if possible; its pages serve requests of many.
    init<Request: Message, Output: Message>(
        _ descriptor: MethodDescriptor, _ service: FirestoreService,
        few: @escaping @Sendable (Request) -> InlineRead<[Response<Output>]>?,
        pages: (@Sendable (Request) async throws -> PagedResponse)? = nil
    ) {
        self.init(descriptor: descriptor, monitor: service.monitor) { bytes in
            guard bytes.count <= RequestMessage<Request>.littleBytes else {
                return Work(async: {
                    try await RequestMessage<Request>(bytes).read { request in
                        try await service.answer(request, few(request), pages)
                    }
                })
            }
            let request = try RequestMessage<Request>.decoded(bytes)
            let read = few(request)
            return Work { reply in
                guard let read, let answers = try service.readInline(read) else { return false }
                reply { try answers.map { try $0.serializedBytes() } }
                return true
            } async: {
                try await service.answer(request, read, pages)
            }
        }
    }
}

extension FirestoreService {
    fileprivate func answer<Request: Message, Output: Message>(
        _ request: Request, _ few: InlineRead<[Response<Output>]>?,
        _ pages: (@Sendable (Request) async throws -> PagedResponse)?
    ) async throws -> RequestMethod.Answer {
        if let few {
            return .messages(try await read(few).map { try $0.serializedBytes() })
        }
        guard let pages else {
            throw RPCError(code: .internalError, message: "the request has no handler")
        }
        return .pages(try await pages(request))
    }
}

// MARK: - Streams

/// A call with any number of requests and responses; an idle one is a single object.
///
/// Confined to the connection's event loop.
protocol OpenStream: AnyObject {
    /// True if the next request must wait for the previous one.
    var isBusy: Bool { get }

    func take(_ request: [UInt8])

    /// Called at the end of the requests.
    func finish()

    /// Called once, at the end of the call for any reason.
    func close()
}

/// A method whose calls are streams.
struct StreamMethod: Sendable {
    let descriptor: MethodDescriptor
    /// Begins a call.
    let open: @Sendable (Call, RequestHeaders, CallContext) -> any OpenStream
}

// MARK: - Inline reads

/// A read of a few documents, performed inline if possible.
struct InlineRead<R: Sendable>: Sendable {
    /// The resource name of the database or of something in it.
    let resource: String
    let consistency: ConsistencySelector
    /// Decodes which documents are read.
    let targets: @Sendable (MessageCoder) throws(LarderError) -> ReadTargets
    /// Reads the documents, on any thread; takes as long as reading a few documents.
    let body: @Sendable (DatabaseContext, MessageCoder, ReadTime) throws(LarderError) -> R

    init(
        of resource: String, _ consistency: ConsistencySelector,
        _ targets: @escaping @Sendable (MessageCoder) throws(LarderError) -> ReadTargets,
        _ body:
            @escaping @Sendable (DatabaseContext, MessageCoder, ReadTime)
            throws(LarderError) -> R
    ) {
        self.resource = resource
        self.consistency = consistency
        self.targets = targets
        self.body = body
    }

    /// A read that converts the result of this one.
    func map<T: Sendable>(_ change: @escaping @Sendable (R) -> T) -> InlineRead<T> {
        InlineRead<T>(of: resource, consistency, targets) {
            [body] (database, coder, time) throws(LarderError) in
            change(try body(database, coder, time))
        }
    }
}

// MARK: - Requests

/// A request, decoded or still encoded.
///
/// A class, so that suspended tasks reserve no space for the message.
final class RequestMessage<Message: SwiftProtobuf.Message>: Sendable {
    private enum Contents: Sendable {
        case message(Message)
        /// A message too large to be decoded on an event loop.
        case bytes([UInt8])
    }

    private let contents: Contents

    /// The largest request to decode and serve on its event loop.
    static var littleBytes: Int { 64 << 10 }

    /// Decodes a small request; keeps a large one encoded.
    ///
    /// - Throws: `invalidArgument` for malformed bytes.
    init(_ bytes: [UInt8]) throws {
        contents =
            bytes.count <= Self.littleBytes ? .message(try Self.decoded(bytes)) : .bytes(bytes)
    }

    /// Decodes a request.
    ///
    /// - Throws: `invalidArgument` for malformed bytes.
    static func decoded(_ bytes: [UInt8]) throws(RPCError) -> Message {
        do {
            return try Message(serializedBytes: bytes)
        } catch {
            throw RPCError(
                code: .invalidArgument,
                message: "the request is no \(Message.protoMessageName)", cause: error)
        }
    }

    /// Passes the request to a closure; a large one is decoded and served off the event loop.
    ///
    /// - Throws: the closure's error; `invalidArgument` for malformed bytes.
    func read<R>(_ body: (Message) async throws -> R) async throws -> R {
        switch contents {
        case .message(let message): try await body(message)
        case .bytes(let bytes):
            try await withTaskExecutorPreference(globalConcurrentExecutor) {
                try await body(try Self.decoded(bytes))
            }
        }
    }
}
