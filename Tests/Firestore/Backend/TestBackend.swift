import LarderBackend
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Synchronization

/// A backend that works when a test says so, by a clock that tests turn.
final class TestBackend {
    let scheduler = ManualScheduler()
    let backend: Backend
    let databaseID = DatabaseID(project: "p")

    /// A backend in memory, or in a directory.
    init(
        directory: String? = nil, clock: ManualClock = ManualClock(), identity: UInt64 = 7,
        rules: @escaping Backend.Rules = { _ in .allow }
    ) throws {
        var configuration = BackendConfiguration(
            project: "p", location: directory.map { .directory($0) } ?? .memory)
        configuration.rules = rules
        configuration.durability = .lastCommitAtRisk
        configuration.clock = { clock.timestamp }
        configuration.makeIdentity = { identity }
        configuration.enqueue = { [scheduler] in scheduler.run($0) }
        backend = try Backend(configuration)
    }

    deinit {
        scheduler.retire()
    }

    /// Does what was asked for.
    func run() {
        scheduler.drain()
    }

    /// Waits for the answer to a call.
    func answer<T: Sendable>(
        _ call: (@escaping @Sendable (Result<T, LarderError>) -> Void) -> Void
    ) throws(LarderError) -> T {
        let answers = Answers<T>()
        call { answers.add($0) }
        run()
        let all = answers.all
        guard let first = all.first, all.count == 1 else {
            throw LarderError(.internal, "\(all.count) answers to one call")
        }
        return try first.get()
    }

    @discardableResult
    func commit(_ mutations: Mutation..., as user: String = "") throws(LarderError)
        -> CommitResponse
    {
        try commit(mutations, as: user)
    }

    @discardableResult
    func commit(_ mutations: [Mutation], as user: String = "") throws(LarderError)
        -> CommitResponse
    {
        try answer { backend.commit(mutations, as: Credentials(userID: user), $0) }
    }

    func commit(_ mutations: [Mutation], in transaction: TransactionID) throws(LarderError)
        -> CommitResponse
    {
        try answer { backend.commit(mutations, in: transaction, as: Credentials(), $0) }
    }

    func read(_ paths: [String], as user: String = "") throws -> [DocumentReading] {
        let paths = try paths.map { try DocumentPath($0) }
        return try answer { backend.read(paths, as: Credentials(userID: user), $0) }
    }

    func fields(_ path: String) throws -> MapValue? {
        try backend.document(at: DocumentPath(path))?.fields
    }

    func version(_ path: String) throws -> SnapshotVersion? {
        try backend.document(at: DocumentPath(path))?.version
    }

    func close() throws {
        try answer { backend.close($0) }
    }
}

/// Answers to a call, in the order in which they came.
final class Answers<T: Sendable>: Sendable {
    private let answers = Mutex<[Result<T, LarderError>]>([])

    func add(_ answer: Result<T, LarderError>) {
        answers.withLock { $0.append(answer) }
    }

    var all: [Result<T, LarderError>] { answers.withLock { $0 } }
}

extension Mutation {
    static func set(
        _ path: String, _ fields: MapValue, _ precondition: Precondition = .none,
        transforms: [FieldTransform] = []
    ) throws -> Mutation {
        Mutation(
            .set(try Record(fields)), at: try DocumentPath(path), precondition: precondition,
            transforms: transforms)
    }

    static func patch(
        _ path: String, _ fields: MapValue, mask: [String]? = nil,
        _ precondition: Precondition = .none, transforms: [FieldTransform] = []
    ) throws -> Mutation {
        let paths = try mask?.map { try FieldPath(dotted: $0) }
        return Mutation(
            .patch(try Record(fields), paths.map { FieldMask($0) } ?? FieldMask(leavesOf: fields)),
            at: try DocumentPath(path), precondition: precondition, transforms: transforms)
    }

    static func delete(_ path: String, _ precondition: Precondition = .none) throws -> Mutation {
        Mutation(.delete, at: try DocumentPath(path), precondition: precondition)
    }

    static func verify(_ path: String, _ precondition: Precondition) throws -> Mutation {
        Mutation(.verify, at: try DocumentPath(path), precondition: precondition)
    }
}

extension FieldTransform {
    init(_ path: String, _ operation: Operation) throws {
        self.init(try FieldPath(dotted: path), operation)
    }
}

/// The code of the error that a closure throws; nil for none.
func code(_ body: () throws -> Void) -> LarderError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? LarderError)?.kind ?? .unknown
    }
}

// MARK: - Watching

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
