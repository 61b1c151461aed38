import GRPCCore
import GRPCProtobuf
import LarderModel
import LarderWire
import SwiftProtobuf

/// The registration of all RPCs.
extension FirestoreService: RegistrableRPCService {
    private typealias Method = Google_Firestore_V1_Firestore.Method

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        for call in unaryCalls { call.register(with: &router) }
        registerReads(with: &router)
    }

    /// The RPCs that a connection may serve without gRPC's router.
    var shortCalls: [ShortCall] {
        unaryCalls.map(\.short) + [
            ShortCall(Method.BatchGetDocuments.descriptor, self) {
                Self.isOfFew($0) ? self.fewDocuments($0) : nil
            }
        ]
    }

    /// The streams, which connections serve.
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

/// An RPC with one request and one response, served by its connection or by gRPC.
protocol UnaryCall: Sendable {
    func register(with router: inout RPCRouter<some ServerTransport>)

    /// The form that a connection serves.
    var short: ShortCall { get }
}

/// A unary RPC of two message types.
struct MessageCall<Request: Message, Output: Message>: UnaryCall {
    let short: ShortCall
    private let body: @Sendable (Request) async throws -> Response<Output>

    /// An RPC that a closure serves.
    ///
    /// - Parameter begin: begins to serve an encoded request on the connection's event loop;
    ///   returns false, without effect, if that would block or the request is malformed.
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

    /// An RPC that reads few documents.
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

/// A read of a few documents, performed inline if possible.
struct InlineRead<R: Sendable>: Sendable {
    /// The resource name of the database or of something in it.
    let resource: String
    let consistency: ConsistencySelector
    /// Reads the documents, on any thread; takes as long as reading a few documents.
    let body: @Sendable (DatabaseContext, MessageCoder) throws(LarderError) -> R

    init(
        of resource: String, _ consistency: ConsistencySelector,
        _ body: @escaping @Sendable (DatabaseContext, MessageCoder) throws(LarderError) -> R
    ) {
        self.resource = resource
        self.consistency = consistency
        self.body = body
    }

    /// A read that converts the result of this one.
    func map<T: Sendable>(_ change: @escaping @Sendable (R) -> T) -> InlineRead<T> {
        InlineRead<T>(of: resource, consistency) { [body] (database, coder) throws(LarderError) in
            change(try body(database, coder))
        }
    }
}

extension ShortCall {
    /// An RPC that reads few documents; `read` returns nil for requests of many.
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
    private static var littleBytes: Int { 64 << 10 }

    /// Decodes a small request; keeps a large one encoded.
    ///
    /// - Throws: `invalidArgument` for malformed bytes.
    init(_ bytes: some GRPCContiguousBytes) throws {
        let size = bytes.withUnsafeBytes { $0.count }
        contents =
            size <= Self.littleBytes
            ? .message(try ProtobufDeserializer().deserialize(bytes))
            : .bytes(bytes.withUnsafeBytes { [UInt8]($0) })
    }

    /// Passes the request to a closure; a large one is decoded and served off the event loop.
    ///
    /// - Throws: the closure's error; `invalidArgument` for malformed bytes.
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

struct RequestMessageDeserializer<Message: SwiftProtobuf.Message>: MessageDeserializer {
    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> RequestMessage<Message> {
        try RequestMessage(bytes)
    }
}
