import Foundation
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderTestSupport

@testable import LarderPlanning

/// A store with documents and overlays of two users, and the same as plain values.
final class PlanningWorld {
    let store: Store
    let user = UserID("alice")
    let databaseID = DatabaseID(project: "p", database: "d")
    let catalog = IndexCatalog()
    /// What alice sees.
    private(set) var view: [DocumentPath: MapValue] = [:]
    private var batch: Int64 = 0

    static let names = ["a", "b", "c", "tags"]
    let fields: [FieldPath]
    let collections: [CollectionPath]

    init() throws {
        store = try Store(.inMemory())
        fields = try Self.names.map { try FieldPath($0) } + [try FieldPath("m", "x")]
        collections = [
            try CollectionPath("rooms"), try CollectionPath("houses/h/rooms"),
            try CollectionPath("other"),
        ]
    }

    var runner: QueryRunner { QueryRunner(user: user, databaseID: databaseID, indexes: catalog) }

    func put(_ path: DocumentPath, _ fields: MapValue) throws {
        try put([(path, fields)])
    }

    /// Writes documents in one commit.
    func put(_ documents: [(path: DocumentPath, fields: MapValue)]) throws {
        try store.write { transaction in
            for (path, fields) in documents {
                try transaction.put(
                    Record(fields), at: path,
                    version: SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 0)))
            }
        }
        for (path, fields) in documents { view[path] = fields }
    }

    /// Writes as many rooms in one commit, with the number in their names.
    func putRooms(_ numbers: Range<Int>, _ fields: (Int) -> MapValue) throws {
        try put(
            numbers.map { (path: try collections[0].document("r\($0)"), fields: fields($0)) })
    }

    func put(_ id: String, _ fields: MapValue) throws {
        try put(collections[0].document(id), fields)
    }

    /// A pending write of alice's; nil for a delete.
    func overlay(_ path: DocumentPath, _ fields: MapValue?) throws {
        batch += 1
        try store.write { transaction in
            try transaction.putOverlay(
                fields.map { try Record($0) }, at: path, of: user, largestBatchID: batch)
        }
        view[path] = fields
    }

    @discardableResult
    func index(_ segments: IndexDefinition.Segment...) throws -> IndexDefinition {
        try index(segments)
    }

    @discardableResult
    func index(_ segments: [IndexDefinition.Segment]) throws -> IndexDefinition {
        let definition = IndexDefinition(collectionGroup: "rooms", segments: segments)
        try store.write { transaction in
            let id = try transaction.defineIndex(definition)
            _ = try transaction.backfillIndex(id)
        }
        return definition
    }

    func run(_ query: Query) throws -> QueryResult {
        try store.read { try runner.run(query, in: $0) }
    }

    func ids(_ query: Query) throws -> [String] { try run(query).documents.map(\.id) }

    func aggregate(
        _ aggregates: [Aggregate], _ query: Query, offset: Int = 0
    ) throws -> AggregateResult {
        try store.read {
            try runner.aggregate(aggregates, over: query, offset: offset, in: $0)
        }
    }

    func reference(_ path: DocumentPath) -> Value {
        .reference(ResourceName(database: databaseID, document: path))
    }
}
