import GRPCCore
import LarderProtocol
import SwiftProtobuf

/// The calls as gRPC knows them; what each does is in the file of its subject.
extension FirestoreService: Google_Firestore_V1_Firestore.SimpleServiceProtocol {
    func getDocument(
        request: Google_Firestore_V1_GetDocumentRequest, context: ServerContext
    ) async throws -> Google_Firestore_V1_Document {
        try await monitor.watch(.getDocument) { try await getDocument(request) }
    }

    func listDocuments(
        request: Google_Firestore_V1_ListDocumentsRequest, context: ServerContext
    ) async throws -> Google_Firestore_V1_ListDocumentsResponse {
        try await monitor.watch(.listDocuments) { try await listDocuments(request) }
    }

    func createDocument(
        request: Google_Firestore_V1_CreateDocumentRequest, context: ServerContext
    ) async throws -> Google_Firestore_V1_Document {
        try await monitor.watch(.createDocument) { try await createDocument(request) }
    }

    func updateDocument(
        request: Google_Firestore_V1_UpdateDocumentRequest, context: ServerContext
    ) async throws -> Google_Firestore_V1_Document {
        try await monitor.watch(.updateDocument) { try await updateDocument(request) }
    }

    func deleteDocument(
        request: Google_Firestore_V1_DeleteDocumentRequest, context: ServerContext
    ) async throws -> Google_Protobuf_Empty {
        try await monitor.watch(.deleteDocument) { try await deleteDocument(request) }
    }

    func batchGetDocuments(
        request: Google_Firestore_V1_BatchGetDocumentsRequest,
        response: RPCWriter<Google_Firestore_V1_BatchGetDocumentsResponse>, context: ServerContext
    ) async throws {
        try await monitor.watch(.batchGetDocuments) {
            try await batchGetDocuments(request, response)
        }
    }

    func beginTransaction(
        request: Google_Firestore_V1_BeginTransactionRequest, context: ServerContext
    ) async throws -> Google_Firestore_V1_BeginTransactionResponse {
        try await monitor.watch(.beginTransaction) { try await beginTransaction(request) }
    }

    func commit(
        request: Google_Firestore_V1_CommitRequest, context: ServerContext
    ) async throws -> Google_Firestore_V1_CommitResponse {
        try await monitor.watch(.commit) { try await commit(request) }
    }

    func rollback(
        request: Google_Firestore_V1_RollbackRequest, context: ServerContext
    ) async throws -> Google_Protobuf_Empty {
        try await monitor.watch(.rollback) { try await rollBack(request) }
    }

    func runQuery(
        request: Google_Firestore_V1_RunQueryRequest,
        response: RPCWriter<Google_Firestore_V1_RunQueryResponse>, context: ServerContext
    ) async throws {
        try await monitor.watch(.runQuery) { try await runQuery(request, response) }
    }

    func runAggregationQuery(
        request: Google_Firestore_V1_RunAggregationQueryRequest,
        response: RPCWriter<Google_Firestore_V1_RunAggregationQueryResponse>,
        context: ServerContext
    ) async throws {
        try await monitor.watch(.runAggregationQuery) {
            try await response.write(try await runAggregationQuery(request))
        }
    }

    func partitionQuery(
        request: Google_Firestore_V1_PartitionQueryRequest, context: ServerContext
    ) async throws -> Google_Firestore_V1_PartitionQueryResponse {
        try await monitor.watch(.partitionQuery) { try await partitionQuery(request) }
    }

    func write(
        request: RPCAsyncSequence<Google_Firestore_V1_WriteRequest, any Error>,
        response: RPCWriter<Google_Firestore_V1_WriteResponse>, context: ServerContext
    ) async throws {
        try await monitor.watch(.write) { try await write(request, response) }
    }

    func listen(
        request: RPCAsyncSequence<Google_Firestore_V1_ListenRequest, any Error>,
        response: RPCWriter<Google_Firestore_V1_ListenResponse>, context: ServerContext
    ) async throws {
        try await monitor.watch(.listen) { try await listen(request, response) }
    }

    func listCollectionIds(
        request: Google_Firestore_V1_ListCollectionIdsRequest, context: ServerContext
    ) async throws -> Google_Firestore_V1_ListCollectionIdsResponse {
        try await monitor.watch(.listCollectionIDs) { try await listCollectionIDs(request) }
    }

    func batchWrite(
        request: Google_Firestore_V1_BatchWriteRequest, context: ServerContext
    ) async throws -> Google_Firestore_V1_BatchWriteResponse {
        try await monitor.watch(.batchWrite) { try await batchWrite(request) }
    }
}
