import GRPCCore
import GRPCProtobuf
import LarderProtocol
import SwiftProtobuf

/// The calls as gRPC knows them; what each does is in the file of its subject.
extension FirestoreService: RegistrableRPCService {
    private typealias Method = Google_Firestore_V1_Firestore.Method

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        registerReads(with: &router)
        registerWrites(with: &router)
        registerStreams(with: &router)
    }

    private func registerReads<Transport: ServerTransport>(
        with router: inout RPCRouter<Transport>
    ) {
        register(Method.GetDocument.descriptor, with: &router, getDocument)
        register(Method.ListDocuments.descriptor, with: &router, listDocuments)
        register(Method.ListCollectionIds.descriptor, with: &router, listCollectionIDs)
        register(Method.PartitionQuery.descriptor, with: &router, partitionQuery)
        register(
            Method.BatchGetDocuments.descriptor, with: &router, AnswerSerializer(),
            batchGetDocuments)
        register(Method.RunQuery.descriptor, with: &router, AnswerSerializer(), runQuery)
        register(
            Method.RunAggregationQuery.descriptor, with: &router, ProtobufSerializer()
        ) { [self] request, writer in
            try await writer.write(try await runAggregationQuery(request))
        }
    }

    private func registerWrites<Transport: ServerTransport>(
        with router: inout RPCRouter<Transport>
    ) {
        register(Method.CreateDocument.descriptor, with: &router, createDocument)
        register(Method.UpdateDocument.descriptor, with: &router, updateDocument)
        register(Method.DeleteDocument.descriptor, with: &router, deleteDocument)
        register(Method.BeginTransaction.descriptor, with: &router, beginTransaction)
        register(Method.Commit.descriptor, with: &router, commit)
        register(Method.Rollback.descriptor, with: &router, rollBack)
        register(Method.BatchWrite.descriptor, with: &router, batchWrite)
    }

    private func registerStreams<Transport: ServerTransport>(
        with router: inout RPCRouter<Transport>
    ) {
        register(Method.Listen.descriptor, with: &router, AnswerSerializer(), streaming: listen)
        register(Method.Write.descriptor, with: &router, ProtobufSerializer(), streaming: write)
    }

    /// A call of one request and one answer.
    private func register<Request: Message, Response: Message>(
        _ method: MethodDescriptor, with router: inout RPCRouter<some ServerTransport>,
        _ body: @escaping @Sendable (Request) async throws -> Response
    ) {
        router.registerHandler(
            forMethod: method, deserializer: ReceivedDeserializer<Request>(),
            serializer: ProtobufSerializer<Response>()
        ) { [monitor] request, _ in
            let request = try await ServerRequest(stream: request)
            let response = try await monitor.watch(method, request.metadata) {
                try await request.message.read(body)
            }
            return StreamingServerResponse(single: ServerResponse(message: response))
        }
    }

    /// A call of one request and any number of answers.
    private func register<Request: Message, Answer>(
        _ method: MethodDescriptor, with router: inout RPCRouter<some ServerTransport>,
        _ serializer: some MessageSerializer<Answer>,
        _ body: @escaping @Sendable (Request, RPCWriter<Answer>) async throws -> Void
    ) {
        router.registerHandler(
            forMethod: method, deserializer: ReceivedDeserializer<Request>(),
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

    /// A call of any number of requests and of answers.
    private func register<Request: Message, Answer>(
        _ method: MethodDescriptor, with router: inout RPCRouter<some ServerTransport>,
        _ serializer: some MessageSerializer<Answer>,
        streaming body:
            @escaping @Sendable (
                RPCAsyncSequence<Received<Request>, any Error>, RPCWriter<Answer>
            ) async throws -> Void
    ) {
        router.registerHandler(
            forMethod: method, deserializer: ReceivedDeserializer<Request>(),
            serializer: serializer
        ) { [monitor] request, _ in
            StreamingServerResponse { writer in
                try await monitor.watch(method, request.metadata) {
                    try await body(request.messages, writer)
                }
                return [:]
            }
        }
    }
}
