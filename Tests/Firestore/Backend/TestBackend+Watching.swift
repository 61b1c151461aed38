import LarderBackend
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport

extension TestBackend {
    /// Opens a watch stream.
    func watch(as user: String = "", demand: Int = .max) -> WatchProbe {
        WatchProbe(backend, databaseID, as: user, demand: demand)
    }

    /// What a stream says from now on until there is nothing left to say.
    func said(to probe: WatchProbe, after body: () throws -> Void) rethrows -> [String] {
        let count = probe.mirror.heard.count
        try body()
        run()
        return Array(probe.mirror.heard.dropFirst(count))
    }
}

extension Query {
    /// A query of a collection, for documents whose number is at least so much.
    static func test(_ path: String, from number: Int64? = nil, limit: Int? = nil) throws -> Query {
        var query = Query(.collection(try CollectionPath(path)))
        let field = try FieldPath("n")
        if let number {
            query.filters = [.field(FieldFilter(field, .greaterThanOrEqual, .integer(number)))]
        }
        if let limit {
            query.explicitOrders = [Order(field)]
            query.limit = .first(limit)
        }
        return query
    }
}

extension WatchRequest {
    static func add(
        _ id: Int32, _ query: Query, _ resumption: WatchTarget.Resumption = .none,
        expecting count: Int? = nil
    ) -> WatchRequest {
        .add(
            WatchTarget(
                id: id, target: query.target, resumption: resumption, expectedCount: count))
    }
}

extension DocumentReading {
    /// The fields of a document that exists.
    var record: MapValue? {
        if case .found(let record, _) = contents { record.fields } else { nil }
    }
}
