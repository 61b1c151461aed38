import Foundation
import LarderWire
import SwiftProtobuf

/// A valid request of every RPC.
struct RequestSamples {
    private(set) var requests: [(method: String, bytes: [UInt8])] = []

    private let root: String
    private let database: String

    init(root: String) throws {
        self.root = root
        database = String(root.dropLast("/documents".count))
        try addReads()
        try addQueries()
        try addWrites()
        try addStreams()
    }

    private mutating func add(_ method: String, _ request: some Message) throws {
        requests.append((method, try request.serializedBytes()))
    }

    // MARK: Parts of requests

    private static let fields: [(String, Google_Firestore_V1_Value.OneOf_ValueType)] = [
        ("n", .integerValue(7)), ("s", .stringValue("text")), ("b", .booleanValue(true)),
        ("d", .doubleValue(0.5)), ("t", .timestampValue(.init(seconds: 1, nanos: 5))),
        ("null", .nullValue(.nullValue)), ("bytes", .bytesValue(Data([1, 2]))),
        ("point", .geoPointValue(.with { $0.latitude = 1 })),
        ("a", .arrayValue(.with { $0.values = [.with { $0.stringValue = "x" }] })),
    ]

    private var document: Google_Firestore_V1_Document {
        .with { document in
            document.name = "\(root)/c/0001"
            document.fields = Self.fields.map { name, value in
                .with {
                    $0.key = name
                    $0.value.valueType = value
                }
            }
        }
    }

    private var query: Google_Firestore_V1_StructuredQuery {
        .with {
            $0.from = [.with { $0.collectionID = "c" }]
            $0.where.fieldFilter = .with {
                $0.field.fieldPath = "n"
                $0.op = .greaterThan
                $0.value.integerValue = 3
            }
            $0.orderBy = [
                .with {
                    $0.field.fieldPath = "n"
                    $0.direction = .descending
                }
            ]
            $0.startAt = .with {
                $0.values = [.with { $0.integerValue = 9 }]
                $0.before = true
            }
            $0.limit.value = 10
            $0.offset = 1
        }
    }

    private var write: Google_Firestore_V1_Write {
        .with {
            $0.update = document
            $0.updateMask.fieldPaths = ["n", "m.x"]
            $0.currentDocument.exists = true
            $0.updateTransforms = [
                .with {
                    $0.fieldPath = "n"
                    $0.increment.integerValue = 1
                },
                .with {
                    $0.fieldPath = "a"
                    $0.appendMissingElements.values = [.with { $0.stringValue = "y" }]
                },
            ]
        }
    }

    // MARK: Requests

    private mutating func addReads() throws {
        try add(
            "GetDocument",
            Google_Firestore_V1_GetDocumentRequest.with {
                $0.name = "\(root)/c/0001"
                $0.mask.fieldPaths = ["n"]
            })
        try add(
            "BatchGetDocuments",
            Google_Firestore_V1_BatchGetDocumentsRequest.with {
                $0.database = database
                $0.documents = (0..<6).map { "\(root)/c/000\($0)" }
                $0.newTransaction.readOnly = .init()
            })
        try add(
            "ListDocuments",
            Google_Firestore_V1_ListDocumentsRequest.with {
                $0.parent = root
                $0.collectionID = "c"
                $0.pageSize = 3
                $0.orderBy = "n desc"
                $0.showMissing = true
            })
        try add(
            "ListCollectionIds",
            Google_Firestore_V1_ListCollectionIdsRequest.with {
                $0.parent = root
                $0.pageSize = 2
            })
        try add(
            "BeginTransaction",
            Google_Firestore_V1_BeginTransactionRequest.with {
                $0.database = database
                $0.options.readWrite = .init()
            })
        try add(
            "Rollback",
            Google_Firestore_V1_RollbackRequest.with {
                $0.database = database
                $0.transaction = Data(repeating: 1, count: 8)
            })
    }

    private mutating func addQueries() throws {
        try add(
            "RunQuery",
            Google_Firestore_V1_RunQueryRequest.with {
                $0.parent = root
                $0.structuredQuery = query
                $0.explainOptions.analyze = true
            })
        try add(
            "RunQuery",
            Google_Firestore_V1_RunQueryRequest.with {
                $0.parent = root
                $0.structuredQuery = query
                $0.structuredQuery.where.compositeFilter = .with {
                    $0.op = .or
                    $0.filters = [query.where, query.where]
                }
            })
        try add(
            "RunAggregationQuery",
            Google_Firestore_V1_RunAggregationQueryRequest.with {
                $0.parent = root
                $0.structuredAggregationQuery.structuredQuery = query
                $0.structuredAggregationQuery.structuredQuery.clearStartAt()
                $0.structuredAggregationQuery.aggregations = [
                    .with {
                        $0.alias = "count"
                        $0.count.upTo.value = 5
                    },
                    .with {
                        $0.alias = "sum"
                        $0.sum.field.fieldPath = "n"
                    },
                    .with { $0.avg.field.fieldPath = "n" },
                ]
            })
        try add(
            "PartitionQuery",
            Google_Firestore_V1_PartitionQueryRequest.with {
                $0.parent = root
                $0.structuredQuery.from = [
                    .with {
                        $0.collectionID = "c"
                        $0.allDescendants = true
                    }
                ]
                $0.structuredQuery.orderBy = [.with { $0.field.fieldPath = "__name__" }]
                $0.partitionCount = 3
            })
    }

    private mutating func addWrites() throws {
        try add(
            "CreateDocument",
            Google_Firestore_V1_CreateDocumentRequest.with {
                $0.parent = root
                $0.collectionID = "c"
                $0.document.fields = document.fields
            })
        try add(
            "UpdateDocument",
            Google_Firestore_V1_UpdateDocumentRequest.with {
                $0.document = document
                $0.updateMask.fieldPaths = ["n", "m.x"]
            })
        try add(
            "DeleteDocument",
            Google_Firestore_V1_DeleteDocumentRequest.with {
                $0.name = "\(root)/c/0019"
                $0.currentDocument.exists = true
            })
        try add(
            "Commit",
            Google_Firestore_V1_CommitRequest.with {
                $0.database = database
                $0.writes = [write, .with { $0.delete = "\(root)/c/0018" }]
            })
        try add(
            "BatchWrite",
            Google_Firestore_V1_BatchWriteRequest.with {
                $0.database = database
                $0.writes = [write, .with { $0.update = document }]
            })
    }

    private mutating func addStreams() throws {
        try add(
            "Listen",
            Google_Firestore_V1_ListenRequest.with {
                $0.database = database
                $0.addTarget.targetID = 1
                $0.addTarget.query.parent = root
                $0.addTarget.query.structuredQuery = query
                $0.addTarget.resumeToken = Data(repeating: 0, count: 8)
            })
        try add("Write", Google_Firestore_V1_WriteRequest.with { $0.database = database })
    }

    // MARK: JSON

    /// Valid requests below the documents of a database.
    static let json: [(method: String, path: String, body: String)] = [
        ("GET", "/c/0001?mask.fieldPaths=n", ""),
        ("GET", "/c?pageSize=3&orderBy=n%20desc&showMissing=true", ""),
        ("POST", "/c?documentId=x", #"{"fields":{"n":{"integerValue":"7"}}}"#),
        (
            "PATCH", "/c/0001?updateMask.fieldPaths=n&currentDocument.exists=true",
            #"{"fields":{"n":{"doubleValue":"NaN"},"t":{"timestampValue":"2024-02-03T04:05:06.7Z"}}}"#
        ),
        ("DELETE", "/c/0019?currentDocument.updateTime=2024-02-03T04:05:06.7Z", ""),
        (
            "POST", ":commit",
            #"{"writes":[{"delete":"projects/p/databases/(default)/documents/c/0018"}]}"#
        ),
        ("POST", ":beginTransaction", #"{"options":{"readOnly":{}}}"#),
        ("POST", ":rollback", #"{"transaction":"AQEBAQEBAQE="}"#),
        (
            "POST", ":batchGet",
            #"{"documents":["projects/p/databases/(default)/documents/c/0001"]}"#
        ),
        ("POST", ":batchWrite", #"{"writes":[]}"#),
        (
            "POST", ":runQuery",
            """
            {"structuredQuery":{"from":[{"collectionId":"c"}],"limit":3,"where":{"fieldFilter":\
            {"field":{"fieldPath":"n"},"op":"GREATER_THAN","value":{"integerValue":"3"}}}}}
            """
        ),
        (
            "POST", ":runAggregationQuery",
            """
            {"structuredAggregationQuery":{"structuredQuery":{"from":[{"collectionId":"c"}]},\
            "aggregations":[{"alias":"a","count":{"upTo":"9"}}]}}
            """
        ),
        ("POST", ":listCollectionIds", #"{"pageSize":2}"#),
        (
            "POST", ":partitionQuery",
            """
            {"structuredQuery":{"from":[{"collectionId":"c","allDescendants":true}],\
            "orderBy":[{"field":{"fieldPath":"__name__"}}]},"partitionCount":"3"}
            """
        ),
    ]
}
