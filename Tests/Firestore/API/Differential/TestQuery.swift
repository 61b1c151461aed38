import Larder
import LarderModel
import LarderQuery
import LarderTestSupport

/// A query as the API is asked, and as the model is.
struct TestQuery {
    /// What the model evaluates.
    let content: LarderQuery.Query

    /// Whether bounds are given by documents that lie there, not by values.
    private(set) var startDocument: DocumentPath?
    private(set) var endDocument: DocumentPath?

    init(_ content: LarderQuery.Query) {
        self.content = content
    }

    /// A sound query, with bounds at documents now and then.
    init(
        _ random: inout SeededRandom, in world: DifferentialWorld,
        _ documents: [DocumentPath: MapValue]
    ) {
        let names = world.paths.map(world.name)
        while true {
            var query = random.planningQuery(world.fields, world.collections, names: names)
            if query.explicitOrders.isEmpty, case .last(let count)? = query.limit {
                query.limit = .first(count)
            }
            var places: [DocumentPath?] = []
            for side in [\LarderQuery.Query.start, \.end] {
                let bound = query[keyPath: side]
                query[keyPath: side] = bound.flatMap { world.bound($0, for: query) }
                places.append(nil)
                let candidates = documents.keys.sorted().filter { path in
                    // A bound is a document of the query's collection.
                    guard case .collection(let collection) = query.source else { return true }
                    return path.parent == collection
                }
                guard random.oneIn(6), !candidates.isEmpty else { continue }
                let path = random.pick(candidates)
                guard
                    let values = world.values(of: path, documents[path] ?? [:], for: query.orders)
                else { continue }
                query[keyPath: side] = Bound(values, isInclusive: random.oneIn(2))
                places[places.count - 1] = path
            }
            guard (try? query.validateForExecution()) != nil else { continue }
            content = query
            startDocument = places[0]
            endDocument = places[1]
            return
        }
    }

    /// Asks the API.
    nonisolated(nonsending) func query(in database: Firestore) async throws -> Larder.Query {
        var query =
            switch content.source {
            case .collection(let path): database.collection(path.string) as Larder.Query
            case .group(let id): database.collectionGroup(id)
            case .document(let path): database.document(path.string).parent
            }
        for filter in content.filters {
            if case .field(let filter) = filter {
                query = query.adding(filter, in: database)
            } else {
                query = query.whereFilter(filter.filter(in: database))
            }
        }
        for order in content.explicitOrders {
            query = query.order(by: order.path.api, descending: order.isDescending)
        }
        switch content.limit {
        case .first(let count)?: query = query.limit(to: count)
        case .last(let count)?: query = query.limit(toLast: count)
        case nil: break
        }
        if let start = content.start {
            if let path = startDocument {
                let document = try await database.document(path.string).getDocument(source: .cache)
                query =
                    start.isInclusive
                    ? query.start(atDocument: document) : query.start(afterDocument: document)
            } else {
                let values = arguments(of: start, database)
                query = start.isInclusive ? query.start(at: values) : query.start(after: values)
            }
        }
        if let end = content.end {
            if let path = endDocument {
                let document = try await database.document(path.string).getDocument(source: .cache)
                query =
                    end.isInclusive
                    ? query.end(atDocument: document) : query.end(beforeDocument: document)
            } else {
                let values = arguments(of: end, database)
                query = end.isInclusive ? query.end(at: values) : query.end(before: values)
            }
        }
        return query
    }

    /// a name is given by the id in the collection, or by its path in a group.
    private func arguments(of bound: Bound, _ database: Firestore) -> [Any] {
        zip(bound.values, content.explicitOrders).map { value, order in
            guard order.path.isDocumentID, case .reference(let name) = value else {
                return value.argument(in: database)
            }
            if case .group = content.source { return name.document?.string ?? "" }
            return name.document?.id ?? ""
        }
    }
}

extension LarderModel.FieldPath {
    fileprivate var api: Larder.FieldPath {
        isDocumentID ? .documentID() : Larder.FieldPath(segments)
    }
}

extension LarderQuery.Filter {
    fileprivate func filter(in database: Firestore) -> Larder.Filter {
        switch self {
        case .and(let filters): return .andFilter(filters.map { $0.filter(in: database) })
        case .or(let filters): return .orFilter(filters.map { $0.filter(in: database) })
        case .field(let filter):
            let (path, value) = (filter.path.api, filter.value.argument(in: database))
            let list = value as? [Any] ?? []
            return switch filter.op {
            case .equal: .whereField(path, isEqualTo: value)
            case .notEqual: .whereField(path, isNotEqualTo: value)
            case .lessThan: .whereField(path, isLessThan: value)
            case .lessThanOrEqual: .whereField(path, isLessThanOrEqualTo: value)
            case .greaterThan: .whereField(path, isGreaterThan: value)
            case .greaterThanOrEqual: .whereField(path, isGreaterOrEqualTo: value)
            case .arrayContains: .whereField(path, arrayContains: value)
            case .arrayContainsAny: .whereField(path, arrayContainsAny: list)
            case .in: .whereField(path, in: list)
            case .notIn: .whereField(path, notIn: list)
            }
        }
    }
}

extension Larder.Query {
    fileprivate func adding(_ filter: FieldFilter, in database: Firestore) -> Larder.Query {
        let (path, value) = (filter.path.api, filter.value.argument(in: database))
        let list = value as? [Any] ?? []
        return switch filter.op {
        case .equal: whereField(path, isEqualTo: value)
        case .notEqual: whereField(path, isNotEqualTo: value)
        case .lessThan: whereField(path, isLessThan: value)
        case .lessThanOrEqual: whereField(path, isLessThanOrEqualTo: value)
        case .greaterThan: whereField(path, isGreaterThan: value)
        case .greaterThanOrEqual: whereField(path, isGreaterThanOrEqualTo: value)
        case .arrayContains: whereField(path, arrayContains: value)
        case .arrayContainsAny: whereField(path, arrayContainsAny: list)
        case .in: whereField(path, in: list)
        case .notIn: whereField(path, notIn: list)
        }
    }
}
