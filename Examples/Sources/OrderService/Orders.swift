import Larder

/// The orders of the café: the documents of the collection `orders`.
struct Orders: Sendable {
    let db: Firestore

    private var collection: CollectionReference { db.collection("orders") }

    /// All orders, the oldest first; those that the server does not have yet come last.
    private var byTime: Query { collection.order(by: "ordered") }

    /// What is written: the ID is the document's, the time the server's.
    private struct Document: Codable {
        var item: String
        var count: Int
        var isServed: Bool
        @ServerTimestamp var ordered: Timestamp?
    }

    /// The orders that this machine knows; never waits for the network.
    func all() async throws -> [Order] {
        try await byTime.getDocuments(source: .cache).documents.map(Self.order)
    }

    /// The order with an ID, or nil.
    func find(_ id: String) async throws -> Order? {
        let query = collection.whereField(FieldPath.documentID(), isEqualTo: id)
        return try await query.getDocuments(source: .cache).documents.first.map(Self.order)
    }

    /// Adds an order, which is on disk when this returns, and is sent when there is a network.
    func add(_ item: String, count: Int) async throws -> Order {
        let document = Document(item: item, count: count, isServed: false, ordered: nil)
        let (reference, write) = try collection.enqueueAddDocument(from: document)
        try await write.committedLocally()
        return Order(
            id: reference.documentID, item: item, count: count, isServed: false, isPending: true)
    }

    /// Marks an order as served.
    func serve(_ order: Order) async throws {
        try await collection.document(order.id)
            .enqueueUpdateData(["isServed": true]).committedLocally()
    }

    /// Removes an order.
    func remove(_ order: Order) async throws {
        try await collection.document(order.id).enqueueDelete().committedLocally()
    }

    /// All orders, and then each change of an order, made here or elsewhere.
    var changes: SnapshotSequence<QuerySnapshot> {
        byTime.snapshots(includeMetadataChanges: true)
    }

    /// The order in a document.
    static func order(_ document: QueryDocumentSnapshot) throws -> Order {
        let data = try document.data(as: Document.self, with: .estimate)
        return Order(
            id: document.documentID, item: data.item, count: data.count, isServed: data.isServed,
            isPending: document.metadata.hasPendingWrites)
    }
}
