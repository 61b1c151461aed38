import GRPCCore
import GRPCProtobuf
import LarderProtocol

/// The service with the calls that answer with many documents made faster: their answers become
/// bytes by an ``LarderProtocol/AnswerSerializer``.
struct AnsweringService: RegistrableRPCService {
    private typealias Method = Google_Firestore_V1_Firestore.Method

    let service: FirestoreService

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        service.registerMethods(with: &router)
        // What is registered last counts.
        router.registerHandler(
            forMethod: Method.RunQuery.descriptor,
            deserializer: ProtobufDeserializer<Google_Firestore_V1_RunQueryRequest>(),
            serializer: AnswerSerializer<Google_Firestore_V1_RunQueryResponse>()
        ) { [service] in try await service.runQuery(request: $0, context: $1) }
        router.registerHandler(
            forMethod: Method.BatchGetDocuments.descriptor,
            deserializer: ProtobufDeserializer<Google_Firestore_V1_BatchGetDocumentsRequest>(),
            serializer: AnswerSerializer<Google_Firestore_V1_BatchGetDocumentsResponse>()
        ) { [service] in try await service.batchGetDocuments(request: $0, context: $1) }
        router.registerHandler(
            forMethod: Method.Listen.descriptor,
            deserializer: ProtobufDeserializer<Google_Firestore_V1_ListenRequest>(),
            serializer: AnswerSerializer<Google_Firestore_V1_ListenResponse>()
        ) { [service] in try await service.listen(request: $0, context: $1) }
    }
}
