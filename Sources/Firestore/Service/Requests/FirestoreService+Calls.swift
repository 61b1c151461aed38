import GRPCCore
import LarderWire

/// The methods of the service: to add an RPC, add its function and a line here.
extension FirestoreService {
    private typealias Method = Google_Firestore_V1_Firestore.Method

    var methods: [CallMethod] { requests.map(CallMethod.request) + streamMethods }

    private var requests: [RequestMethod] {
        [
            RequestMethod(Method.GetDocument.descriptor, self, few: getDocument),
            RequestMethod(
                Method.BatchGetDocuments.descriptor, self, few: fewDocuments,
                pages: batchGetDocuments),
            RequestMethod(Method.ListDocuments.descriptor, monitor, listDocuments),
            RequestMethod(Method.ListCollectionIds.descriptor, monitor, listCollectionIDs),
            RequestMethod(Method.RunQuery.descriptor, monitor, pages: runQuery),
            RequestMethod(Method.RunAggregationQuery.descriptor, monitor, runAggregationQuery),
            RequestMethod(Method.PartitionQuery.descriptor, monitor, partitionQuery),
            RequestMethod(Method.CreateDocument.descriptor, monitor, createDocument),
            RequestMethod(Method.UpdateDocument.descriptor, monitor, updateDocument),
            RequestMethod(Method.DeleteDocument.descriptor, monitor, deleteDocument),
            RequestMethod(Method.BeginTransaction.descriptor, monitor, beginTransaction),
            RequestMethod(Method.Commit.descriptor, monitor, begin: beginCommit, commit),
            RequestMethod(Method.Rollback.descriptor, monitor, rollBack),
            RequestMethod(Method.BatchWrite.descriptor, monitor, batchWrite),
        ]
    }

    private var streamMethods: [CallMethod] {
        [
            .stream(StreamMethod(ListenStreamHandler.self, self)),
            .stream(StreamMethod(WriteStreamHandler.self, self)),
        ]
    }
}
