import LarderModel
import LarderQuery
import LarderRemote

/// A remote that a law is tried on, in a place that the law has for itself.
struct RemoteUnderLaw: Sendable {
    let remote: any Remote
    let database: DatabaseID
    let place: String

    /// The path of a document, in the law's own collection unless said otherwise.
    func path(_ id: String, in collection: String = "a") throws -> DocumentPath {
        try DocumentPath("\(place)/\(collection)/docs/\(id)")
    }

    func collection(_ collection: String = "a") throws -> CollectionPath {
        try CollectionPath("\(place)/\(collection)/docs")
    }

    /// What documents of a collection match whose number is at least so much.
    func query(from number: Int64? = nil, in collection: String = "a") throws -> Query {
        var query = Query(.collection(try self.collection(collection)))
        if let number {
            query.filters = [
                .field(
                    FieldFilter(try FieldPath("n"), .greaterThanOrEqual, .integer(number)))
            ]
        }
        return query
    }

    func set(
        _ id: String, _ number: Int64, in collection: String = "a",
        _ precondition: Precondition = .none
    ) throws -> Mutation {
        Mutation(
            .set(try Record(["n": .integer(number)])), at: try path(id, in: collection),
            precondition: precondition)
    }

    func patch(
        _ id: String, _ fields: MapValue, _ precondition: Precondition = .none,
        transforms: [FieldTransform] = []
    ) throws -> Mutation {
        Mutation(
            .patch(try Record(fields), FieldMask(leavesOf: fields)), at: try path(id),
            precondition: precondition, transforms: transforms)
    }

    func delete(_ id: String, _ precondition: Precondition = .none) throws -> Mutation {
        Mutation(.delete, at: try path(id), precondition: precondition)
    }

    @discardableResult
    func commit(_ mutations: Mutation...) async throws -> CommitResponse {
        try await withCheckedContinuation { continuation in
            remote.commit(mutations, as: Credentials()) { continuation.resume(returning: $0) }
        }.get()
    }

    /// The kind of error that a commit is refused with; nil for none.
    func refusal(_ mutations: Mutation...) async -> LarderError.Code? {
        let result = await withCheckedContinuation { continuation in
            remote.commit(mutations, as: Credentials()) { continuation.resume(returning: $0) }
        }
        if case .failure(let error) = result { return error.kind }
        return nil
    }

    func read(_ ids: String...) async throws -> [DocumentReading] {
        let paths = try ids.map { try path($0) }
        return try await withCheckedContinuation { continuation in
            remote.read(paths, as: Credentials()) { continuation.resume(returning: $0) }
        }.get()
    }

    func aggregate(_ aggregates: [Aggregate], over query: Query) async throws -> [Value] {
        try await withCheckedContinuation { continuation in
            remote.aggregate(aggregates, over: query.target, as: Credentials()) {
                continuation.resume(returning: $0)
            }
        }.get()
    }

    func watch(demand: Int = .max) -> WatchProbe {
        WatchProbe(remote, database, demand: demand)
    }

    /// Throws unless something is so.
    func require(_ isSo: Bool, _ what: @autoclosure () -> String) throws(RemoteLawBroken) {
        if !isSo { throw RemoteLawBroken(description: "\(place): \(what())") }
    }
}

extension DocumentReading {
    /// The fields of a document that exists.
    var fields: MapValue? {
        if case .found(let record, _) = contents { record.fields } else { nil }
    }
}

extension WatchMirror {
    /// The ids and numbers of a target's documents at the last snapshot; nil where the target was
    /// not current then.
    func numbers(of target: Int32) -> [String: Value]? {
        guard let readings = snapshots.last?.targets[target] else { return nil }
        return Dictionary(
            uniqueKeysWithValues: readings.map { ($0.key.id, $0.value.fields?["n"] ?? .null) })
    }
}
