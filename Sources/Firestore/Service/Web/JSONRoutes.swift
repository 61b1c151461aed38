import LarderHTTP
import LarderWire
import SwiftProtobuf

/// The RPCs over HTTP, as `google.api.http` annotates them in `google/firestore/v1/firestore.proto`.
enum JSONRoutes {
    private typealias Method = Google_Firestore_V1_Firestore.Method

    /// The custom methods of paths.
    static let names = Set(ofDatabase.keys).union(ofDocuments.keys)

    /// The route of a request; nil if there is none.
    static func route(_ verb: String, _ path: JSONPath) -> JSONRoute? {
        if let name = path.method {
            guard verb == "POST" else { return nil }
            return ofDocuments[name] ?? (path.segments.isEmpty ? ofDatabase[name] : nil)
        }
        guard !path.segments.isEmpty else { return nil }
        return switch verb {
        // The names of documents and collections alternate.
        case "GET": path.segments.count.isMultiple(of: 2) ? get : list
        case "POST": create
        case "PATCH": update
        case "DELETE": delete
        default: nil
        }
    }

    // MARK: Documents

    private static let get = JSONRoute(
        Method.GetDocument.descriptor, Method.GetDocument.Input.self,
        Method.GetDocument.Output.self,
        parameters: [
            "mask.fieldPaths": JSONParameter.text { $0.mask.fieldPaths.append($1) },
            "transaction": JSONParameter.bytes { $0.transaction = $1 },
            "readTime": JSONParameter.time { $0.readTime = $1 },
        ]
    ) { request, path in request.name = path.resource }

    private static let list = JSONRoute(
        Method.ListDocuments.descriptor, Method.ListDocuments.Input.self,
        Method.ListDocuments.Output.self,
        parameters: [
            "pageSize": JSONParameter.number { $0.pageSize = $1 },
            "pageToken": JSONParameter.text { $0.pageToken = $1 },
            "orderBy": JSONParameter.text { $0.orderBy = $1 },
            "mask.fieldPaths": JSONParameter.text { $0.mask.fieldPaths.append($1) },
            "transaction": JSONParameter.bytes { $0.transaction = $1 },
            "readTime": JSONParameter.time { $0.readTime = $1 },
            "showMissing": JSONParameter.flag { $0.showMissing = $1 },
        ]
    ) { request, path in
        request.parent = path.parent
        request.collectionID = path.segments.last ?? ""
    }

    private static let create = JSONRoute(
        Method.CreateDocument.descriptor, Method.CreateDocument.Input.self,
        Method.CreateDocument.Output.self,
        body: { $0.document = try .init(firestoreJSON: $1) },
        parameters: [
            "documentId": JSONParameter.text { $0.documentID = $1 },
            "mask.fieldPaths": JSONParameter.text { $0.mask.fieldPaths.append($1) },
        ]
    ) { request, path in
        request.parent = path.parent
        request.collectionID = path.segments.last ?? ""
    }

    private static let update = JSONRoute(
        Method.UpdateDocument.descriptor, Method.UpdateDocument.Input.self,
        Method.UpdateDocument.Output.self,
        body: { $0.document = try .init(firestoreJSON: $1) },
        parameters: [
            "updateMask.fieldPaths": JSONParameter.text { $0.updateMask.fieldPaths.append($1) },
            "mask.fieldPaths": JSONParameter.text { $0.mask.fieldPaths.append($1) },
            "currentDocument.exists": JSONParameter.flag { $0.currentDocument.exists = $1 },
            "currentDocument.updateTime": JSONParameter.time { $0.currentDocument.updateTime = $1 },
        ]
    ) { request, path in
        request.document.name = path.resource
    }

    private static let delete = JSONRoute(
        Method.DeleteDocument.descriptor, Method.DeleteDocument.Input.self,
        Method.DeleteDocument.Output.self,
        parameters: [
            "currentDocument.exists": JSONParameter.flag { $0.currentDocument.exists = $1 },
            "currentDocument.updateTime": JSONParameter.time { $0.currentDocument.updateTime = $1 },
        ]
    ) { request, path in request.name = path.resource }

    // MARK: Custom methods

    /// The methods of `documents` alone.
    private static let ofDatabase: [String: JSONRoute] = [
        "batchGet": JSONRoute(
            Method.BatchGetDocuments.descriptor, Method.BatchGetDocuments.Input.self,
            Method.BatchGetDocuments.Output.self,
            isStream: true, body: whole
        ) { request, path in
            request.database = path.database
        },
        "batchWrite": JSONRoute(
            Method.BatchWrite.descriptor, Method.BatchWrite.Input.self,
            Method.BatchWrite.Output.self, body: whole
        ) { request, path in request.database = path.database },
        "beginTransaction": JSONRoute(
            Method.BeginTransaction.descriptor, Method.BeginTransaction.Input.self,
            Method.BeginTransaction.Output.self, body: whole
        ) { request, path in
            request.database = path.database
        },
        "commit": JSONRoute(
            Method.Commit.descriptor, Method.Commit.Input.self, Method.Commit.Output.self,
            body: whole
        ) { request, path in request.database = path.database },
        "rollback": JSONRoute(
            Method.Rollback.descriptor, Method.Rollback.Input.self, Method.Rollback.Output.self,
            body: whole
        ) { request, path in request.database = path.database },
    ]

    /// The methods of `documents` and of a document.
    private static let ofDocuments: [String: JSONRoute] = [
        "listCollectionIds": JSONRoute(
            Method.ListCollectionIds.descriptor, Method.ListCollectionIds.Input.self,
            Method.ListCollectionIds.Output.self, body: whole
        ) { request, path in
            request.parent = path.resource
        },
        "partitionQuery": JSONRoute(
            Method.PartitionQuery.descriptor, Method.PartitionQuery.Input.self,
            Method.PartitionQuery.Output.self, body: whole
        ) { request, path in request.parent = path.resource },
        "runAggregationQuery": JSONRoute(
            Method.RunAggregationQuery.descriptor, Method.RunAggregationQuery.Input.self,
            Method.RunAggregationQuery.Output.self,
            isStream: true, body: whole
        ) { request, path in
            request.parent = path.resource
        },
        "runQuery": JSONRoute(
            Method.RunQuery.descriptor, Method.RunQuery.Input.self, Method.RunQuery.Output.self,
            isStream: true, body: whole
        ) { request, path in request.parent = path.resource },
    ]

    /// Reads a body that is the whole message.
    @Sendable
    private static func whole<Request: Message>(_ request: inout Request, _ body: [UInt8]) throws {
        request = try Request(firestoreJSON: body)
    }
}
