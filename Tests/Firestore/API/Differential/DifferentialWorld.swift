import Larder
import LarderModel
import LarderQuery
import LarderTestSupport

/// Where the documents of a differential run are, and what their fields are called.
struct DifferentialWorld {
    let collections: [CollectionPath]
    let paths: [DocumentPath]
    let fields: [LarderModel.FieldPath]
    /// The database that configurations name where nobody names one.
    static let databaseID = DatabaseID(
        project: FirestoreConfiguration.inMemory.project, database: DatabaseID.defaultDatabase)

    init() throws {
        let collections = try ["rooms", "houses/h/rooms", "other", "rooms/a/rooms"]
            .map { try CollectionPath($0) }
        self.collections = collections
        let ids = ["a", "b", "B", "é", "e\u{301}", "_", "~", "10", "9", "a b"]
        // Enough documents in one collection for indexes to be worth their while.
        let more = try (0..<24).map { try collections[0].document("r\($0)") }
        paths =
            try collections.flatMap { collection in try ids.map { try collection.document($0) } }
            + more
        fields =
            ["a", "b", "c", "tags"].map { LarderModel.FieldPath(unchecked: [$0]) }
            + [LarderModel.FieldPath(unchecked: ["m", "x"])]
    }

    func name(_ path: DocumentPath) -> Value {
        .reference(ResourceName(database: Self.databaseID, document: path))
    }

    /// 2.7: as much of a bound as the API takes: values of explicit orders, names that are in
    /// the collection.
    func bound(_ bound: Bound, for query: LarderQuery.Query) -> Bound? {
        var values: [Value] = []
        for (value, order) in zip(bound.values, query.explicitOrders) {
            if order.path.isDocumentID, case .collection(let collection) = query.source {
                guard case .reference(let name) = value, name.document?.parent == collection else {
                    break
                }
            }
            values.append(value)
        }
        return values.isEmpty ? nil : Bound(values, isInclusive: bound.isInclusive)
    }

    /// 2.7: a document's values of all orders; nil for one that no query may begin at.
    func values(of path: DocumentPath, _ fields: MapValue, for orders: [Order]) -> [Value]? {
        var values: [Value] = []
        for order in orders {
            guard let value = order.path.isDocumentID ? name(path) : fields.value(at: order.path)
            else { return nil }
            if case .serverTimestamp = value { return nil }
            values.append(value)
        }
        return values
    }
}
