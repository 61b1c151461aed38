import GRPCCore
import GRPCProtobuf
import LarderModel
import LarderWire
import SwiftProtobuf

/// The calls as gRPC knows them; what each does is in the file of its subject.
extension FirestoreService: RegistrableRPCService {
    private typealias Method = Google_Firestore_V1_Firestore.Method

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        for call in unaryCalls { call.register(with: &router) }
        registerReads(with: &router)
    }

    /// The calls that may be answered from their connections.
    var shortCalls: [ShortCall] {
        unaryCalls.map(\.short) + [
            ShortCall(Method.BatchGetDocuments.descriptor, self) {
                Self.isOfFew($0) ? self.fewDocuments($0) : nil
            }
        ]
    }

    /// The calls that are served from their connections.
    var liveMethods: [LiveMethod] {
        [LiveMethod(ListenStreamHandler.self, self), LiveMethod(WriteStreamHandler.self, self)]
    }

    private var unaryCalls: [any UnaryCall] {
        [
            MessageCall(Method.GetDocument.descriptor, self, reading: getDocument),
            MessageCall(Method.ListDocuments.descriptor, monitor, listDocuments),
            MessageCall(Method.ListCollectionIds.descriptor, monitor, listCollectionIDs),
            MessageCall(Method.PartitionQuery.descriptor, monitor, partitionQuery),
            MessageCall(Method.CreateDocument.descriptor, monitor, createDocument),
            MessageCall(Method.UpdateDocument.descriptor, monitor, updateDocument),
            MessageCall(Method.DeleteDocument.descriptor, monitor, deleteDocument),
            MessageCall(Method.BeginTransaction.descriptor, monitor, beginTransaction),
            MessageCall(Method.Commit.descriptor, monitor, begin: beginCommit, commit),
            MessageCall(Method.Rollback.descriptor, monitor, rollBack),
            MessageCall(Method.BatchWrite.descriptor, monitor, batchWrite),
        ]
    }

    private func registerReads<Transport: ServerTransport>(
        with router: inout RPCRouter<Transport>
    ) {
        register(
            Method.BatchGetDocuments.descriptor, with: &router, ResponseSerializer(),
            batchGetDocuments)
        register(Method.RunQuery.descriptor, with: &router, ResponseSerializer(), runQuery)
        register(
            Method.RunAggregationQuery.descriptor, with: &router, ProtobufSerializer()
        ) { [self] request, writer in
            try await writer.write(try await runAggregationQuery(request))
        }
    }

    /// A call of one request and any number of answers.
    private func register<Request: Message, Output>(
        _ method: MethodDescriptor, with router: inout RPCRouter<some ServerTransport>,
        _ serializer: some MessageSerializer<Output>,
        _ body: @escaping @Sendable (Request, RPCWriter<Output>) async throws -> Void
    ) {
        router.registerHandler(
            forMethod: method, deserializer: RequestMessageDeserializer<Request>(),
            serializer: serializer
        ) { [monitor] request, _ in
            let request = try await ServerRequest(stream: request)
            return StreamingServerResponse { writer in
                try await monitor.watch(method, request.metadata) {
                    try await request.message.read { try await body($0, writer) }
                }
                return [:]
            }
        }
    }
}

// MARK: - Unary calls

/// A call of one request and one answer, by both of its ways.
protocol UnaryCall: Sendable {
    /// Tells gRPC of it.
    func register(with router: inout RPCRouter<some ServerTransport>)

    /// It, as it is answered from its connection.
    var short: ShortCall { get }
}

/// A call whose messages are these.
struct MessageCall<Request: Message, Output: Message>: UnaryCall {
    let short: ShortCall
    private let body: @Sendable (Request) async throws -> Response<Output>

    /// A call of which a closure does all.
    ///
    /// - Parameter begin: begins what the bytes of a request ask for on the event loop of the
    ///   connection; false where that would wait, or the bytes are no such request.
    init(
        _ method: MethodDescriptor, _ monitor: CallMonitor,
        begin: @escaping @Sendable ([UInt8], @escaping ShortCall.Reply<[[UInt8]]>) throws -> Bool =
            {
                _, _ in false
            },
        _ body: @escaping @Sendable (Request) async throws -> Output
    ) {
        short = ShortCall(method: method, monitor: monitor) { bytes in
            ShortCall.Work { reply in
                try begin(bytes, reply)
            } async: {
                [try await RequestMessage<Request>(bytes).read(body).serializedBytes()]
            }
        }
        self.body = { .message(try await body($0)) }
    }

    /// A call that reads few documents.
    init(
        _ method: MethodDescriptor, _ service: FirestoreService,
        reading: @escaping @Sendable (Request) -> InlineRead<Response<Output>>
    ) {
        short = ShortCall(method, service) { request in reading(request).map { [$0] } }
        body = { try await service.read(reading($0)) }
    }

    func register(with router: inout RPCRouter<some ServerTransport>) {
        let (method, monitor) = (short.method, short.monitor)
        router.registerHandler(
            forMethod: method, deserializer: RequestMessageDeserializer<Request>(),
            serializer: ResponseSerializer<Output>()
        ) { request, _ in
            let request = try await ServerRequest(stream: request)
            let answer = try await monitor.watch(method, request.metadata) {
                try await request.message.read(body)
            }
            return StreamingServerResponse(single: ServerResponse(message: answer))
        }
    }
}

// MARK: - Inline reads

/// A read of few documents, as a request asks for it: made at once where it can be.
struct InlineRead<R: Sendable>: Sendable {
    /// A name that begins with that of the database.
    let resource: String
    /// As of when.
    let consistency: ConsistencySelector
    /// What reads; any thread may, for as long as few documents take.
    let body: @Sendable (DatabaseContext, MessageCoder) throws(LarderError) -> R

    init(
        of resource: String, _ consistency: ConsistencySelector,
        _ body: @escaping @Sendable (DatabaseContext, MessageCoder) throws(LarderError) -> R
    ) {
        self.resource = resource
        self.consistency = consistency
        self.body = body
    }

    /// A read that makes something of what this one reads.
    func map<T: Sendable>(_ change: @escaping @Sendable (R) -> T) -> InlineRead<T> {
        InlineRead<T>(of: resource, consistency) { [body] (database, coder) throws(LarderError) in
            change(try body(database, coder))
        }
    }
}

extension ShortCall {
    /// A call whose requests ask for few documents, or for what is not short.
    init<Request: Message, Output: Message>(
        _ method: MethodDescriptor, _ service: FirestoreService,
        _ read: @escaping @Sendable (Request) -> InlineRead<[Response<Output>]>?
    ) {
        self.init(method: method, monitor: service.monitor) { bytes in
            guard let request = try? Request(serializedBytes: bytes), let read = read(request)
            else { return nil }
            return Work { reply in
                guard let answers = try service.readInline(read) else { return false }
                reply { try answers.map { try $0.serializedBytes() } }
                return true
            } async: {
                try await service.read(read).map { try $0.serializedBytes() }
            }
        }
    }
}

// MARK: - Requests

/// A request as it came.
///
/// In a box, so that the stacks of those who wait for the next one, most of the time, have no room
/// for it.
final class RequestMessage<Message: SwiftProtobuf.Message>: Sendable {
    private enum Contents: Sendable {
        case message(Message)
        /// What is too large to be decoded while others wait.
        case bytes([UInt8])
    }

    private let contents: Contents

    /// What a request may have to be decoded, and served, on the event loop that it came from.
    private static var littleBytes: Int { 64 << 10 }

    /// Reads a request that is not large.
    ///
    /// - Throws: `invalidArgument` for bytes that are no such message.
    init(_ bytes: some GRPCContiguousBytes) throws {
        let size = bytes.withUnsafeBytes { $0.count }
        contents =
            size <= Self.littleBytes
            ? .message(try ProtobufDeserializer().deserialize(bytes))
            : .bytes(bytes.withUnsafeBytes { [UInt8]($0) })
    }

    /// Lends the request to a closure: a large one where its event loop does not wait for it, nor
    /// the other connections of that.
    ///
    /// - Throws: what the closure throws; `invalidArgument` for bytes that are no such message.
    func read<R>(_ body: (Message) async throws -> R) async throws -> R {
        switch contents {
        case .message(let message): try await body(message)
        case .bytes(let bytes):
            try await withTaskExecutorPreference(globalConcurrentExecutor) {
                try await body(try ProtobufDeserializer().deserialize(bytes))
            }
        }
    }
}

/// Takes requests as they come.
struct RequestMessageDeserializer<Message: SwiftProtobuf.Message>: MessageDeserializer {
    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> RequestMessage<Message> {
        try RequestMessage(bytes)
    }
}
