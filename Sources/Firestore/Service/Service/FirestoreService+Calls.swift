import GRPCCore
import GRPCProtobuf
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
        [LiveMethod(ServedListen.self, self), LiveMethod(ServedWrites.self, self)]
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
            Method.BatchGetDocuments.descriptor, with: &router, AnswerSerializer(),
            batchGetDocuments)
        register(Method.RunQuery.descriptor, with: &router, AnswerSerializer(), runQuery)
        register(
            Method.RunAggregationQuery.descriptor, with: &router, ProtobufSerializer()
        ) { [self] request, writer in
            try await writer.write(try await runAggregationQuery(request))
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
}
